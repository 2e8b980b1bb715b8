"""How kernels walk axes that are not the last, and what a transposition moves at a time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu.ops.axes import across, left_out, order_of, together


@pytest.mark.parametrize(("dims", "axes", "walk"), [
    ((32, 4096), (1,), None),  # rows that lie together
    ((32, 4096), (0,), (1, 32)),  # 32 vectors of 4096, one after the other
    ((2, 3, 17, 1024, 101), (3,), (102, 1024)),
    ((32, 256, 169), (0, 2), (1, 32)),  # the 169 lie together
    ((8, 1000, 1, 1), (1,), None),  # nothing larger than 1 lies behind
    ((64, 7, 9), (0, 1, 2), None),  # everything
    ((-1, 4096), (0,), None),  # an open length counts 1
])  # fmt: skip
def test_steps_along_an_axis(dims, axes, walk):
    assert across(dims, axes) == walk


@pytest.mark.parametrize(("dims", "result", "axes"), [
    ((32, 4096), (1, 4096), (0,)), ((32, 256, 169), (256,), (0, 2)), ((64, 64), (64,), (1,)), ((4, 5), (), (0, 1)), ((4, 5), (7,), ()),
])  # fmt: skip
def test_axes_a_reduction_left_out(dims, result, axes):
    assert left_out(dims, result) == axes


@pytest.mark.parametrize(("dims", "order", "item", "elements"), [
    ((64, 32, 512, 128), (0, 2, 1, 3), 2, 128),  # heads and places change, 128 values stay together
    ((4, 1024, 12288), (1, 0, 2), 2, 12288),
    ((2048, 2048), (1, 0), 4, 32),  # a piece of 128 bytes
    ((1009, 1021), (1, 0), 4, 31),  # rows of 4084 bytes are no multiple of 32
    ((2048, 1, 2048), (0, 2, 1), 4, 2048 * 2048),  # nothing moves
    ((16, 16), (), 4, 32),  # not known
])  # fmt: skip
def test_what_a_transposition_moves_at_a_time(dims, order, item, elements):
    assert together(dims, order, item) == elements


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5).flatmap(lambda d: st.tuples(st.just(d), st.permutations(range(len(d))))))
def test_an_order_is_found_for_every_transposition(case):
    dims, order = case
    result = [dims[i] for i in order]
    found = order_of(dims, result)
    assert [dims[i] for i in found] == result
    assert 1 <= together(dims, found, 4) <= max(32, __import__("math").prod(dims))


def test_no_order_makes_other_lengths():
    assert order_of((2, 3), (3, 4)) == ()
