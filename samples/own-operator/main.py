"""An operator of one's own, z = max(x + y, 0), made faster in three steps; each gain is read off the counters."""

import numpy as np

from npu import soc, tbe
from npu.cost.counters import pipe_utilization

CHIP = soc.find("Ascend910B3")
ROWS, COLUMNS, TILE = 2048, 2048, 4096
UNITS = (
    "aic_time",
    "aic_mac",
    "aic_scalar",
    "aic_mte1",
    "aic_mte2",
    "aic_fixpipe",
    "aic_icache_miss",
    "aiv_time",
    "aiv_vec",
    "aiv_scalar",
    "aiv_mte2",
    "aiv_mte3",
    "aiv_icache_miss",
)


def operator() -> tuple[tbe.Tensor, ...]:
    x, y = (tbe.placeholder((ROWS, COLUMNS), name) for name in "xy")
    total = tbe.dsl.vadd(x, y)
    return x, y, total, tbe.dsl.vrelu(total)


def kernel(name: str, contiguous: bool, vectorised: bool, doubled: bool) -> tbe.Kernel:
    x, y, total, out = operator()
    schedule = tbe.create_schedule(out)
    stage = schedule[out]
    if contiguous:
        block, inside = stage.split(stage.fuse(*stage.axes), nparts=CHIP.aiv)
        loop, _ = stage.split(inside, factor=TILE)
    else:  # tiles of 16 columns: 32 bytes of every row
        rows, columns = stage.axes
        block, inside = stage.split(rows, nparts=CHIP.aiv)
        loop, narrow = stage.split(columns, factor=16)
        stage.reorder(block, loop, inside, narrow)
    stage.bind(block)
    cached = [schedule.cache_read(x), schedule.cache_read(y), schedule.cache_write(out)]
    schedule[total].set_scope("local.UB")
    for one in (*cached, schedule[total]):
        one.compute_at(stage, loop)
        if doubled:
            one.double_buffer()
    if vectorised:
        schedule[total].emit_insn(None, "vector_add")
        cached[-1].emit_insn(None, "vector_relu")
    return tbe.build(schedule, name, CHIP)


def show(made: tbe.Kernel) -> None:
    cost = made.cost
    counters = pipe_utilization(cost.duration, cost.block_dim, 0, {n: getattr(cost, n) for n in UNITS}, CHIP)
    parts = ", ".join(f"{n} {counters[f'aiv_{n}_time(us)']:.1f}" for n in ("mte2", "scalar", "vec", "mte3"))
    print(f"{made.name:<16}{made.us:>9.1f} us   busy us: {parts}")


def main() -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(ROWS, COLUMNS)).astype(np.float16) for _ in "xy")
    steps = ("strided", False, False, False), ("contiguous", True, False, False), ("vectorised", True, True, False)
    made = [kernel(*step) for step in (*steps, ("double-buffered", True, True, True))]
    for one in made:
        assert np.array_equal(one.run(x=x, y=y), np.maximum(x + y, np.float16(0)))
        show(one)
    print(made[-2].picture())
    print(made[-1].picture())
    found = tbe.build(tbe.auto_schedule(operator()[-1], CHIP), "auto_schedule", CHIP)
    show(found)


if __name__ == "__main__":
    main()
