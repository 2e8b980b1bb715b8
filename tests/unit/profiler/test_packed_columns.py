"""Columns kept in half the room give the numbers they were made from, taken or not."""

from __future__ import annotations

import numpy as np
import pytest

from profiler.trace import Array, Columns, Packed, packed

WIDE = np.array([0, 5, (1 << 31) - 1, -(1 << 31)])


@pytest.mark.parametrize("base", [None, np.array([1 << 40, 1 << 41, 7, -(1 << 50)])])
def test_packed_and_back(base: Array | None) -> None:
    values = WIDE if base is None else WIDE + base
    kept = packed(values, base)
    assert isinstance(kept, Packed) and kept.values.dtype == np.int32
    table = Columns({"start": np.arange(4), "ready": kept})
    assert table["ready"].dtype == np.int64 and table["ready"].tolist() == values.tolist()
    order = np.array([3, 1])
    assert table.take(order)["ready"].tolist() == values[order].tolist()
    assert table.at("ready", order).tolist() == values[order].tolist()


def test_what_does_not_fit_stays_as_it_is() -> None:
    far = np.array([0, 1 << 31])
    assert packed(far) is far
    one = np.broadcast_to(np.int64(-1), 5)  # a column of one value takes the room of one already
    assert packed(one) is one
    none = np.zeros(0, np.int64)
    assert packed(none) is none
