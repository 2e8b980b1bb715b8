"""Traces with one planted cause in the kernels themselves: it is found first, and its gain is what the cured run really gains."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from npu import cost
from npu.cost import Work
from npu.units import US
from profiler.analysis import analyze
from tests.truth.machine import CHIP
from tests.unit.profiler.eager import Eager

Facts = dict[str, object]
Kernel = tuple[str, float, Facts]
STEPS, LAYERS = 5, 12
LAUNCH = 4.0  # of the host; kernels are longer, so the device is what the run waits for


def model_us(work: Work) -> float:
    return cost.kernel(work, CHIP).duration / US


def elementwise(op: str, us: float, elements: str, dtype: str = "FLOAT16", **more: object) -> Kernel:
    facts = {"in_shapes": elements, "in_dtypes": dtype, "in_formats": "ND", "out_shapes": elements, "out_dtypes": dtype}
    return op, us, {**facts, "out_formats": "ND", "block_dim": 40, "aiv_vec_ratio": 0.85, **more}


def product(us: float, m: int, k: int, n: int, **more: object) -> Kernel:
    facts = {"in_shapes": f"{m},{k};{k},{n}", "in_dtypes": "FLOAT16;FLOAT16", "in_formats": "ND;ND", "out_shapes": f"{m},{n}"}
    facts |= {"out_dtypes": "FLOAT16", "out_formats": "ND", "task_type": "AI_CORE"}
    return "MatMulV2", us, {**facts, "block_dim": 20, "aic_mac_ratio": 0.85, "aic_mte2_ratio": 0.9, **more}


def product_us(m: int, k: int, n: int) -> float:
    return model_us(Work("matmul", "MatMulV2", "float16", (1, m, n, k), 2 * (m * k + k * n), 2 * m * n))


GOOD = product(product_us(2048, 1024, 1024), 2048, 1024, 1024)


def training(kernels: list[Kernel], aicpu: tuple[str, ...] = ()) -> Eager:
    """Steps of layers; every layer launches the kernels one after the other."""
    run = Eager()
    for _ in range(STEPS):
        run.begin()
        for _ in range(LAYERS):
            for op, us, facts in kernels:
                run.launch(op, us, host=LAUNCH, **facts)
                if op in aicpu:
                    run.made.rows["task"][-1].update(kind=1, task_type="AI_CPU", block_dim=0)
        run.end()
    return run


def report(run: Eager) -> list[str]:
    return [f.id for f in analyze(run.made.trace()).findings if not f.cause]


def slow_pipes() -> tuple[Kernel, Kernel]:
    pipes = {"aiv_mte2_ratio": 0.55, "aiv_vec_ratio": 0.4}
    return elementwise("MyNorm", 200, "1024,1024", **pipes), elementwise("MyNorm", 110, "1024,1024", aiv_vec_ratio=0.8)


INT64 = elementwise("Mul", 60, "1024,1024", "INT64")
INT32_US = 60 * model_us(Work("vector", "Mul", "int32", (1 << 20, 1024), 4 << 20, 4 << 20)) / model_us(
    Work("vector", "Mul", "int64", (1 << 20, 1024), 8 << 20, 8 << 20)
)  # fmt: skip
GREATER_US = model_us(Work("vector", "Greater", "int32", (524288, 512), 4 * 524288, 4 * 524288))
MULTIPLY_US = model_us(Work("vector", "Mul", "float32", (1 << 20, 1024), 4 << 20, 4 << 20))
# Four fifths of 64 MiB come from memory (1600 GB/s) and not from the cache (5.2 TB/s for 24 cores, of which there are 20).
MISSED_US = 0.8 * (64 << 20) * (1 / 1600 - 24 / 5200 / 20) / 1000
LARGE_US = product_us(2048, 4096, 4096)
HALF_BYTES = 32_000_000 * 2 * 2 / CHIP.memory_gbps / 1000 / 0.9

CAUSES: dict[str, tuple[list[Kernel], list[Kernel]]] = {
    "aicpu-on-path": (
        [GOOD, elementwise("Greater", 410, "512,1024", "INT64")],
        [GOOD, elementwise("Greater", GREATER_US, "512,1024", "INT32")],
    ),
    "low-cube-use": (
        [product(300, 2048, 1024, 1024, aic_mac_ratio=0.2, aic_mte2_ratio=0.5), elementwise("Gelu", 100, "2048,1024")],
        [GOOD, elementwise("Gelu", 100, "2048,1024")],
    ),
    "block-tail": (
        [GOOD, elementwise("Softmax", 200, "64,64", block_dim=41)],
        [GOOD, elementwise("Softmax", 200 * 41 / 80, "64,64", block_dim=80)],
    ),
    "scalar-bound": (
        [GOOD, elementwise("MaxPool", 100, "64,64", aiv_scalar_ratio=0.9, aiv_vec_ratio=0.3)],
        [GOOD, elementwise("MaxPool", 40, "64,64", aiv_scalar_ratio=0.75, aiv_vec_ratio=0.75)],
    ),
    "no-overlap-in-kernel": ([GOOD, slow_pipes()[0]], [GOOD, slow_pipes()[1]]),
    "bank-conflict": (
        [GOOD, elementwise("MyOp", 100, "64,64", aiv_vec_bank_cflt_ratio=0.3)],
        [GOOD, elementwise("MyOp", 70, "64,64", aiv_vec_bank_cflt_ratio=0.0)],
    ),
    "bandwidth-bound": (
        [GOOD, *(elementwise(op, HALF_BYTES, "32000000", aiv_mte2_ratio=0.95) for op in ("Mul", "Tanh"))],
        [GOOD, *(elementwise(op, HALF_BYTES / 2, "32000000", aiv_mte2_ratio=0.5) for op in ("Mul", "Tanh"))],
    ),
    "fp64-int64-vector": ([GOOD, INT64], [GOOD, elementwise("Mul", INT32_US, "1024,1024", "INT32")]),
    "substitutable-op": (
        [GOOD, elementwise("NonZero", 150, "1024,1024", "FLOAT")],
        [GOOD, elementwise("Mul", MULTIPLY_US, "1024,1024", "FLOAT")],
    ),
    "unaligned-axis": (
        [GOOD, product(250, 2048, 1000, 1024), elementwise("Gelu", 20, "64,64")],
        [GOOD, GOOD, elementwise("Gelu", 20, "64,64")],
    ),
    "l2-misses": (
        [product(LARGE_US + MISSED_US, 2048, 4096, 4096, aic_r0_read_cache_hit=20, aic_r0_read_cache_miss_allocate=80)],
        [product(LARGE_US, 2048, 4096, 4096, aic_r0_read_cache_hit=90, aic_r0_read_cache_miss_allocate=10)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("cause", CAUSES)
def test_planted_in_the_kernels(cause: str) -> None:
    before, after = CAUSES[cause]
    slow, fast = (training(k, ("Greater",) if k is before else ()) for k in (before, after))
    found = analyze(slow.made.trace()).findings
    assert found[0].id == cause, [f.id for f in found]
    assert found[0].gain is not None
    assert found[0].gain.ns / US == pytest.approx(slow.now - fast.now, rel=0.1)
    assert cause not in report(fast)


def sampled(mhz: float) -> Eager:
    run = training([elementwise("Gelu", 100 * 1800 / mhz, "1024,1024")] * 2)
    run.made.counter("AI Core Freq", 0, mhz)
    return run


def test_a_throttled_clock() -> None:
    slow, fast = sampled(1300), sampled(1800)
    found = analyze(slow.made.trace()).findings
    assert found[0].id == "frequency-drop" and found[0].gain is not None
    assert found[0].gain.ns / US == pytest.approx(slow.now - fast.now, rel=0.1)
    assert report(fast) == []


def test_runs_that_are_late_for_no_reason_in_the_trace() -> None:
    def run(late: float) -> Eager:
        made = Eager()
        for _ in range(STEPS):
            made.begin()
            for layer in range(LAYERS):
                op, us, facts = elementwise("Gelu", late if layer in (5, 9) else 50, "1024,1024")
                made.launch(op, us, host=LAUNCH, **facts)
                made.launch(GOOD[0], GOOD[1], host=LAUNCH, **GOOD[2])
            made.end()
        return made

    slow, fast = run(400), run(50)
    found = analyze(slow.made.trace()).findings
    assert found[0].id == "kernel-outlier" and found[0].gain is not None
    assert found[0].gain.ns / US == pytest.approx(slow.now - fast.now, rel=0.1)
    assert report(fast) == []


Clean = Callable[[], Eager]
CLEAN: dict[str, Clean] = {
    "products near their model": lambda: training([GOOD, elementwise("Gelu", 60, "2048,1024")]),
    "a cube that works": lambda: training([product(200, 2048, 1024, 1024, aic_mac_ratio=0.86)]),
    "flat products": lambda: training([product(60, 8, 4096, 4096, aic_mac_ratio=0.05, aic_mte2_ratio=0.97)] * 2),
    "vector kernels bound by vectors": lambda: training([GOOD, elementwise("Gelu", 100, "1024,1024", aiv_vec_ratio=0.9)]),
    "full rounds of blocks": lambda: training([GOOD, elementwise("Gelu", 100, "64,64", block_dim=80)]),
    "pipes that overlap": lambda: training([GOOD, elementwise("Norm", 100, "64,64", aiv_mte2_ratio=0.75, aiv_vec_ratio=0.7)]),
    "small 64-bit kernels": lambda: training([GOOD, elementwise("Mul", 1.2, "64", "INT64")]),
    "mixed kernels": lambda: training([("FlashAttention", 300, {"task_type": "MIX_AIC", "block_dim": 20, "scalar_ratio": 0.95})]),
    "noise of a tenth": lambda: training([elementwise("Gelu", us, "1024,1024") for us in (95, 100, 105, 110, 98, 102)]),
    "padded products": lambda: training([GOOD, product(product_us(2048, 1152, 1024), 2048, 1152, 1024)]),
}  # fmt: skip


@pytest.mark.parametrize("run", CLEAN)
def test_clean_kernels_are_silent(run: str) -> None:
    assert report(CLEAN[run]()) == []


def test_the_checklist_judges_operators() -> None:
    clean = {c.layer: c for c in analyze(training([GOOD]).made.trace()).checklist}
    assert clean["operator"].state == "fine"
    slow = {c.layer: c for c in analyze(training(CAUSES["block-tail"][0]).made.trace()).checklist}
    assert (slow["operator"].state, slow["operator"].count) == ("findings", 1)
