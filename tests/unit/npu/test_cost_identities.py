"""What must hold for every kernel on every chip."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu import soc
from npu.cost import Cost, Work, kernel

FORMS = ["matmul", "conv", "depthwise", "vector", "row", "across", "layout", "fill", "attention", "grouped_matmul", "aicpu"]
CHIPS = st.sampled_from([soc.find(n) for n in ("910B3", "910B1", "910B4", "910_9382", "910A", "310P3", "310B4", "310")])
AIC_UNITS = ("aic_mac", "aic_scalar", "aic_mte1", "aic_mte2", "aic_fixpipe")
AIV_UNITS = ("aiv_vec", "aiv_scalar", "aiv_mte2", "aiv_mte3")
SIZE = {"float16": 2, "bfloat16": 2, "float32": 4, "int8": 1}


def sides(count: int, high: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*[st.integers(1, high)] * count)


@st.composite
def works(draw: st.DrawFn) -> Work:
    form = draw(st.sampled_from(FORMS))
    dtype = draw(st.sampled_from(list(SIZE)))
    op = draw(st.sampled_from(["Other", "Add", "RmsNorm", "TransData", "ZerosLike", "Transpose", "MatMulV2Gelu"]))
    if form in ("matmul", "grouped_matmul"):
        dims = draw(st.tuples(st.integers(1, 32), *[st.integers(1, 5000)] * 3))
    elif form in ("conv", "depthwise"):
        dims = (*draw(sides(5, 200)), *draw(sides(2, 7)), 1)
    elif form == "attention":
        dims = (*draw(sides(2, 64)), draw(st.integers(1, 2048)), draw(st.integers(1, 4096)), draw(st.integers(16, 256)))
    else:
        steps = (draw(st.integers(1, 4096)),) if form == "across" else ()
        dims = (*draw(st.tuples(st.integers(0, 1 << 26), st.integers(0, 1 << 16))), *steps)
    read, write = draw(st.integers(0, 1 << 28)), draw(st.integers(0, 1 << 28))
    return Work(form, op, dtype, dims, read, write, draw(st.integers(0, 1 << 24)))


def core_of(cost: Cost, unit: str) -> float:
    """Time of the core a unit sits in; on combined chips there is one."""
    return cost.aiv_time if unit.startswith("aiv") and cost.aiv_time else cost.aic_time


@settings(max_examples=150, deadline=None)
@given(works(), CHIPS)
def test_no_unit_is_busier_than_its_core_and_no_core_than_the_kernel(work, chip):
    made = kernel(work, chip)
    assert made.duration > 0
    for unit in AIC_UNITS + AIV_UNITS:
        assert 0 <= getattr(made, unit) <= core_of(made, unit) * (1 + 1e-9)
    assert max(made.aic_time, made.aiv_time) < made.duration
    assert 0 <= made.hbm_share <= 1
    assert made.block_dim <= max(chip.aic, chip.aiv)
    if not chip.split:
        assert made.task_type in ("AI_CORE", "AI_CPU")
        assert made.aiv_time == 0
    if made.task_type == "MIX_AIC":
        assert made.mix_block_dim == 2 * made.block_dim
    else:
        assert made.mix_block_dim == 0


@settings(max_examples=150, deadline=None)
@given(works(), CHIPS, st.integers(0, 1 << 27), st.integers(0, 1 << 27))
def test_more_bytes_are_never_faster(work, chip, read, write):
    more = replace(work, read_bytes=work.read_bytes + read, write_bytes=work.write_bytes + write)
    # attention infers its key-value heads from the bytes read: the last wave's fraction may round by a nanosecond or two
    assert kernel(more, chip).duration >= kernel(work, chip).duration - 2


@settings(max_examples=60, deadline=None)
@given(works(), CHIPS, st.integers(0, 1 << 24))
def test_more_fused_elements_are_never_faster(work, chip, epilogue):
    more = replace(work, epilogue=work.epilogue + epilogue)
    assert kernel(more, chip).duration >= kernel(work, chip).duration


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 1 << 25), st.integers(0, 1 << 24), st.sampled_from(list(SIZE)), CHIPS)
def test_more_elements_are_never_faster(elements, extra, dtype, chip):
    def add(count: int) -> int:
        return kernel(Work("vector", "Add", dtype, (count, 1), 2 * count * SIZE[dtype], count * SIZE[dtype]), chip).duration

    assert add(elements + extra) >= add(elements)


@pytest.mark.parametrize("elements", [1, 1000, 40_000, 100_000])
def test_short_kernels_lose_half_a_microsecond(elements):
    made = kernel(Work("vector", "Add", "float16", (elements, 1), 4 * elements, 2 * elements), soc.find("910B3"))
    assert made.duration < 5000
    assert 480 <= made.duration - made.aiv_time <= 550


@pytest.mark.parametrize("elements", [1 << 22, 1 << 24, 1 << 26])
def test_long_kernels_lose_three_to_ten_percent(elements):
    made = kernel(Work("vector", "Add", "bfloat16", (elements, 1), 4 * elements, 2 * elements), soc.find("910B3"))
    assert made.duration > 20_000
    assert 0.03 <= 1 - made.aiv_time / made.duration <= 0.10


def test_the_same_work_costs_the_same():
    work = Work("matmul", "MatMulV2", "float16", (1, 500, 700, 900), 2_160_000, 700_000)
    assert kernel(work, soc.find("910B3")) == kernel(work, soc.find("910B3"))
