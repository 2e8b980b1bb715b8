"""How long a sequence of kernels takes when several streams run it, on 20 cube and 40 vector cores."""

from __future__ import annotations

import pytest

from profiler.analysis.rules.packing import Kernel, stretch


def cube(cores: int, ns: int = 100) -> Kernel:
    return Kernel(cores, 0, ns, 0)


def vector(cores: int, ns: int = 100) -> Kernel:
    return Kernel(0, cores, ns, 0)


@pytest.mark.parametrize(
    ("cores", "streams", "expected"),
    [(20, 4, 4.0), (11, 2, 2.0), (10, 2, 1.0), (10, 4, 2.0), (5, 4, 1.0), (5, 8, 2.0), (1, 1, 1.0)],
)
def test_kernels_of_one_size(cores: int, streams: int, expected: float) -> None:
    assert stretch([cube(cores)], streams, 20, 40) == expected


def test_cube_and_vector_kernels_do_not_hold_each_other_up() -> None:
    """Two streams, each 100 on all cube cores and 100 on all vector cores: the second begins 100 later, then they interlock."""
    assert stretch([cube(20), vector(40)], 2, 20, 40) == pytest.approx((8 * 100 + 100) / 800)


def test_gaps_of_one_stream_are_filled_by_the_others() -> None:
    """80 of work and 20 of gap: five streams could fill it to 400 of 100, less what the last one leaves."""
    assert stretch([Kernel(20, 0, 80, 20)], 2, 20, 40) == pytest.approx(1.6, abs=0.1)


def test_nothing_takes_no_time() -> None:
    assert stretch([Kernel(1, 0, 0, 0)], 3, 20, 40) == 1.0
