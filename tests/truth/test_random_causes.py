"""Random programs with one planted cause: it is found first, and its gain is what the same program without it really gains.

A seed gives the numbers of steps, layers and kernels, their shapes, times and noise; the cured program has the same noise. Two
hundred seeds of each cause were tried when this was written; here stand some.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from npu.cost import Work
from npu.units import KIB, MIB, US
from profiler.analysis import analyze
from tests.truth.machine import CHIP
from tests.truth.test_operator_causes import Kernel, elementwise, model_us, product, product_us
from tests.unit.profiler.eager import Eager
from tests.unit.profiler.exchange import Steps

SEEDS = (2, 23, 104, 177)
DIMS = (512, 768, 1024, 1536, 2048, 3072, 4096)
NOISE = 0.03
Kernels = Callable[[int, int], list[Kernel]]  # step, layer -> what follows the layer's own kernels
Hook = Callable[[Eager, int, int], None]
Pair = tuple[Eager | Steps, Eager | Steps]


def nothing(_step: int, _layer: int) -> list[Kernel]:
    return []


class Model:
    """Layers of products near their model, and some vector kernels."""

    def __init__(self, seed: int) -> None:
        self.seed, self.random = seed, random.Random(seed)
        self.steps, self.layers, self.host = self.random.randint(4, 8), self.random.randint(4, 16), self.random.uniform(2.5, 5)
        self.kernels: list[Kernel] = []
        for _ in range(self.random.randint(1, 3)):
            m, k, n = max((tuple(self.random.choices(DIMS, k=3)), (4096, 1024, 1024)), key=lambda s: product_us(*s) >= 8)
            self.kernels.append(product(product_us(m, k, n) * self.random.uniform(1, 1.15), m, k, n))
            if self.random.random() < 0.5:
                op = self.random.choice(("FlashAttentionScore", "RmsNorm", "SoftmaxV2"))
                self.kernels.append(elementwise(op, self.random.uniform(40, 150), f"{m},{n}"))

    def between(self, low: float, high: float) -> float:
        return self.random.uniform(low, high)

    def noise(self, *place: int) -> float:
        return 1 + random.Random(str((self.seed, place))).uniform(-NOISE, NOISE)

    def run(self, extra: Kernels = nothing, before: Hook | None = None, on_cpu: bool = False) -> Eager:
        run = Eager()
        for step in range(self.steps):
            run.begin()
            for layer in range(self.layers):
                if before is not None:
                    before(run, step, layer)
                for number, (op, us, facts) in enumerate(self.kernels):
                    run.launch(op, us * self.noise(step, layer, number), host=self.host, **facts)
                for number, (op, us, facts) in enumerate(extra(step, layer)):
                    run.launch(op, us * self.noise(step, layer, 100 + number), host=self.host, **facts)
                    if on_cpu:
                        run.made.rows["task"][-1].update(kind=1, task_type="AI_CPU", block_dim=0)
            run.end()
        return run


def chains(model: Model) -> Pair:
    ops = model.random.sample(("Sub", "Abs", "Neg", "Exp", "Sqrt", "Square", "Floor"), model.random.randint(3, 6))
    times = [model.between(5.2, 9.5) for _ in ops]
    slow = [elementwise(op, us, "64,64") for op, us in zip(ops, times, strict=True)]
    return model.run(lambda _s, _l: slow), model.run(lambda _s, _l: [elementwise("Fused", max(times), "64,64")])


def layouts(model: Model) -> Pair:
    us, shape = model.between(15, 60), f"{model.random.choice(DIMS)},{model.random.choice(DIMS)}"
    there = elementwise("TransData", us, shape, in_formats="ND", out_formats="FRACTAL_NZ")
    back = elementwise("TransData", us, shape, in_formats="FRACTAL_NZ", out_formats="ND")
    first, second = elementwise("Gelu", 30, shape), elementwise("Gelu", 31, shape)
    return model.run(lambda _s, _l: [there, first, back, second]), model.run(lambda _s, _l: [first, second])


def on_cpu(model: Model) -> Pair:
    rows, columns, op = *(model.random.choice((256, 512, 1024)) for _ in range(2)), model.random.choice(("Greater", "Less", "Equal"))
    count, shape = rows * columns, f"{rows},{columns}"
    cured = model_us(Work("vector", op, "int32", (count, columns), 4 * count, 4 * count))
    slow = [elementwise(op, model.between(200, 1500), shape, "INT64")]
    return model.run(lambda _s, _l: slow, on_cpu=True), model.run(lambda _s, _l: [elementwise(op, cured, shape, "INT32")])


def blocks(model: Model) -> Pair:
    count, us, cores = model.random.choice((1, 2, 4, 8, 20, 50, 60)), model.between(100, 400), CHIP.vector_cores
    full = math.ceil(count / cores) * cores
    return (
        model.run(lambda _s, _l: [elementwise("ReduceSum", us, "64,4096", block_dim=count)]),
        model.run(lambda _s, _l: [elementwise("ReduceSum", us * count / full, "64,4096", block_dim=full)]),
    )


def casts(model: Model) -> Pair:
    us, middle = model.between(20, 60), elementwise("Softmax", 30, "2048,1024", "FLOAT")
    there = elementwise("Cast", us, "2048,1024", "FLOAT16", out_dtypes="FLOAT")
    back = elementwise("Cast", us, "2048,1024", "FLOAT", out_dtypes="FLOAT16")
    return model.run(lambda _s, _l: [there, middle, back]), model.run(lambda _s, _l: [middle])


def scalars(model: Model) -> Pair:
    us, scalar, vector = model.between(60, 250), model.between(0.82, 0.95), model.between(0.2, 0.5)
    slow = elementwise("MaxPool", us, "64,64", aiv_scalar_ratio=scalar, aiv_vec_ratio=vector)
    fast = elementwise("MaxPool", us * (1 - scalar + vector), "64,64", aiv_scalar_ratio=0.75, aiv_vec_ratio=0.75)
    return model.run(lambda _s, _l: [slow]), model.run(lambda _s, _l: [fast])


def outliers(model: Model) -> Pair:
    """In later steps only: a first step that takes longer is warm-up."""
    us, times = model.between(40, 90), model.between(5, 12)
    bad = {(model.random.randrange(1, model.steps), model.random.randrange(model.layers)) for _ in range(model.steps + 1)}
    return (
        model.run(lambda s, n: [elementwise("Gelu", us * (times if (s, n) in bad else 1), "1024,1024")]),
        model.run(lambda _s, _l: [elementwise("Gelu", us, "1024,1024")]),
    )


def wide_integers(model: Model) -> Pair:
    us = model.between(50, 200)
    wide, narrow = (
        model_us(Work("vector", "Mul", f"int{8 * size}", (1 << 20, 1024), size << 20, size << 20)) for size in (8, 4)
    )
    return (
        model.run(lambda _s, _l: [elementwise("Mul", us, "1024,1024", "INT64")]),
        model.run(lambda _s, _l: [elementwise("Mul", us * narrow / wide, "1024,1024", "INT32")]),
    )


def allocations(model: Model) -> Pair:
    """An allocation waits for the device first."""
    take, give, count = model.between(150, 600), model.between(80, 300), model.random.randint(1, 3)

    def before(run: Eager, _step: int, layer: int) -> None:
        for _ in range(count if layer % 2 == 0 else 0):
            run.call("aclrtMalloc", max(run.busy - run.now, 0) + take)
            run.call("aclrtFree", give)

    return model.run(before=before), model.run()


def waits(model: Model) -> Pair:
    own = model.between(20, 60)

    def held(run: Eager, _step: int, _layer: int) -> None:
        run.sync()
        run.user(own)

    return model.run(before=held), model.run(before=lambda run, _s, _l: run.user(own))


def collections(model: Model) -> Pair:
    us = model.between(20_000, 90_000)

    def before(run: Eager, step: int, layer: int) -> None:
        if layer == 2 and step % 2:
            run.made.marker("gc", "gc", run.now, run.now + us)
            run.user(us)

    return model.run(before=before), model.run()


class Exchange:
    """Steps of one kernel and what follows it."""

    def __init__(self, seed: int) -> None:
        self.seed, self.random = seed, random.Random(seed)
        self.steps, self.compute = self.random.randint(5, 12), self.random.uniform(400, 3000)
        self.peers = dict.fromkeys(range(1, self.random.choice((4, 8))), 0.0)
        self.one = self.random.choice(list(self.peers))

    def run(self, each: Callable[[Steps, int], None]) -> Steps:
        made = Steps()
        for step in range(self.steps):
            made.kernel(self.compute * (1 + random.Random(str((self.seed, step))).uniform(-NOISE, NOISE)))
            each(made, step)
            made.mark()
        return made


def late(job: Exchange) -> Pair:
    lag, transfer = job.random.uniform(100, 1500), job.random.uniform(10, 40)
    held, free = job.peers | {job.one: lag}, job.peers
    return job.run(lambda s, _: s.collective(held, transfer)), job.run(lambda s, _: s.collective(free, transfer))


def slow_link(job: Exchange) -> Pair:
    times, transfer = job.random.uniform(2, 6), job.random.uniform(60, 200)
    return (
        job.run(lambda s, _: s.collective(job.peers, transfer, size=8 * MIB, speed={job.one: times})),
        job.run(lambda s, _: s.collective(job.peers, transfer, size=8 * MIB)),
    )


def turns(job: Exchange) -> Pair:
    lag, names = job.random.uniform(150, 700), list(job.peers)
    job.steps = 3 * len(names)
    return (
        job.run(lambda s, n: s.collective(job.peers | {names[n % len(names)]: lag}, 20)),
        job.run(lambda s, _: s.collective(job.peers, 20)),
    )


def small_collectives(job: Exchange) -> Pair:
    count, us, size = job.random.choice((40, 80, 120)), job.random.uniform(15, 30), job.random.choice((8, 16)) * KIB

    def several(many: int) -> Callable[[Steps, int], None]:
        def each(steps: Steps, _: int) -> None:
            for _ in range(many):
                steps.collective({1: 0, 2: 0, 3: 0}, us, size=size)

        return each

    return job.run(several(count)), job.run(several(1))


def staging(job: Exchange) -> Pair:
    local = job.random.uniform(100, 500)
    return (
        job.run(lambda s, n: s.collective(job.peers, 15, local=local if n % 2 else 0)),
        job.run(lambda s, _: s.collective(job.peers, 15)),
    )


IN_KERNELS: dict[str, Callable[[Model], Pair]] = {
    "small-kernel-chain": chains,
    "layout-storm": layouts,
    "aicpu-on-path": on_cpu,
    "block-tail": blocks,
    "cast-storm": casts,
    "scalar-bound": scalars,
    "kernel-outlier": outliers,
    "fp64-int64-vector": wide_integers,
    "alloc-in-loop": allocations,
    "sync-every-submit": waits,
    "python-gc": collections,
}
IN_COMMUNICATION: dict[str, Callable[[Exchange], Pair]] = {
    "late-rank": late,
    "slow-link": slow_link,
    "imbalance": turns,
    "frequent-collectives": small_collectives,
    "staging-copy": staging,
}


def end(run: Eager | Steps) -> float:
    return max(run.now, run.busy) if isinstance(run, Eager) else run.now


def check(cause: str, slow: Eager | Steps, fast: Eager | Steps) -> None:
    found = analyze(slow.made.trace()).findings
    assert found and found[0].id == cause, [(f.id, f.cause) for f in found]
    assert found[0].gain is not None
    assert found[0].gain.ns / US == pytest.approx(end(slow) - end(fast), rel=0.1)
    assert cause not in [f.id for f in analyze(fast.made.trace()).findings if not f.cause]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("cause", IN_KERNELS)
def test_a_cause_in_kernels_and_calls(cause: str, seed: int) -> None:
    check(cause, *IN_KERNELS[cause](Model(seed)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("cause", IN_COMMUNICATION)
def test_a_cause_in_communication(cause: str, seed: int) -> None:
    check(cause, *IN_COMMUNICATION[cause](Exchange(seed)))


@pytest.mark.parametrize("seed", range(20))
def test_random_clean_programs_are_silent(seed: int) -> None:
    assert analyze(Model(seed).run().made.trace()).findings == []
    job = Exchange(seed)
    transfer, lag = job.random.uniform(3, 8), job.random.uniform(0, 4)
    made = job.run(lambda s, n: s.collective(job.peers | {1 + n % len(job.peers): lag}, transfer))
    assert [f.id for f in analyze(made.made.trace()).findings] == []
