"""Work of PyTorch's operators from their shapes, and blocks of their memory; nothing here needs torch."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu.cost import kernel
from npu.soc import find as chip
from npu.torch_npu.allocator import SMALL, Cache, rounded, segment_size
from npu.torch_npu.operators import FORMS, find, table
from npu.torch_npu.work import Seen, kernels


def seen(*dims, dtype="float32"):
    return Seen(dtype, dims)


# AlexNet's poolings of 3x3 windows, a batch of 32 (public profile of training on 910B): channels, sides, us forward and backward
@pytest.mark.parametrize(("channels", "side", "out", "forward", "backward"), [
    (64, 55, 27, 172.8, 100.7), (192, 27, 13, 156.2, 101.3), (256, 13, 6, 80.8, 109.9),
])  # fmt: skip
def test_poolings_take_as_long_as_measured(channels, side, out, forward, backward):
    x, y, at = seen(32, channels, side, side), seen(32, channels, out, out), seen(32, channels, out, out, dtype="int64")
    for name, ins, outs, measured in (
        ("max_pool2d_with_indices", (x,), (y, at), forward), ("max_pool2d_with_indices_backward", (y, x, at), (x,), backward),
    ):  # fmt: skip
        made = kernels(find(f"aten::{name}")._replace(window=9), ins, outs, 0)
        (main,) = (k for k in made if k.op_type.startswith("MaxPool"))
        assert main.work.dims == (32 * channels * out * out * 9, 32 * channels // 16)
        assert kernel(main.work, chip("Ascend910B1")).duration / 1000 == pytest.approx(measured, rel=0.15)
        assert [k.op_type for k in made].count("TransData") == len(made) - 1


def test_rows_of_a_norm_are_those_of_its_statistics():
    x, mean, weight = seen(4, 128, 768), seen(4, 128, 1), seen(768)
    for name, ins, outs in (
        ("native_layer_norm", (x, weight, weight), (x, mean, mean)),
        ("native_layer_norm_backward", (x, x, mean, mean, weight, weight), (x, weight, weight)),
    ):
        (made,) = kernels(find(f"aten::{name}"), ins, outs, 0)
        assert made.work.dims == (4 * 128 * 768, 512)
    picture, channels = seen(8, 64, 32, 32), seen(64)
    for made in kernels(find("aten::native_batch_norm"), (picture, *[channels] * 4), (picture, channels, channels), 0):
        assert made.work.dims == (8 * 64 * 32 * 32, 64)


def test_every_row_of_the_table_has_a_form_and_kernels():
    for name, operator in table().items():
        assert operator.form in FORMS and bool(operator.parts) == (operator.form != "none"), name


def test_requests_are_rounded_as_the_framework_does():
    assert [rounded(n) for n in (1, 512, 513)] == [512, 512, 1024]
    assert [segment_size(n) for n in (SMALL, SMALL + 1, 10 << 20, (21 << 20) + 512)] == [2 << 20, 20 << 20, 10 << 20, 22 << 20]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 3 << 20)), max_size=60))
def test_blocks_never_overlap_and_what_is_given_back_joins(steps):
    cache, held, next_address = Cache(), [], 1 << 40
    for take, size in steps:
        if not take and held:
            cache.give(held.pop(size % len(held)))
            continue
        block = cache.take(size, 0)
        if block is None:
            wanted = segment_size(rounded(size))
            cache.add(next_address, wanted, rounded(size) <= SMALL, 0)
            next_address += 1 << 30
            block = cache.take(size, 0)
        held.append(block)
    spans = sorted((b.address, b.address + b.size) for b in held)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert all(b.size >= rounded(b.wanted) for b in held)
    assert cache.allocated == sum(b.size for b in held)
    for block in held:
        cache.give(block)
    reserved = cache.reserved
    assert cache.allocated == 0 and sum(size for _, size in cache.unused()) == reserved  # every segment is whole again
    assert cache.reserved == cache.segments == 0
