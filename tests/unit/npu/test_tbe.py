"""Operators of one's own: what is computed equals numpy, what is scheduled is checked and timed."""

import numpy as np
import pytest

from npu import soc, tbe
from npu.tbe.schedule import Axis

B1, B3 = soc.find("910B1"), soc.find("910B3")
SIZE = 8192


def add(shape=(SIZE, SIZE)):
    x, y = tbe.placeholder(shape, "x"), tbe.placeholder(shape, "y")
    return x, y, tbe.dsl.vadd(x, y)


def scheduled(cores: int, tile: int, doubled: bool, chip=B1, shape=(SIZE, SIZE)) -> tbe.Kernel:
    x, y, z = add(shape)
    schedule = tbe.create_schedule(z)
    stage = schedule[z]
    block, inside = stage.split(stage.fuse(*stage.axes), nparts=cores)
    loop, _ = stage.split(inside, factor=tile)
    stage.bind(block)
    for cached in (schedule.cache_read(x), schedule.cache_read(y), schedule.cache_write(z)):
        cached.compute_at(stage, loop)
        if doubled:
            cached.double_buffer()
    cached.emit_insn(None, "vector_add")
    return tbe.build(schedule, "add", chip)


@pytest.mark.parametrize(
    ("made", "measured", "within"),
    [  # Add of 8192 x 8192 fp16 on 910B1, asc-devkit
        (lambda: tbe.build(tbe.create_schedule(add()[2]), chip=B1), 1239689.1, 0.02),  # scalar, one core
        (lambda: scheduled(1, 8192, True), 6909.6, 0.15),
        (lambda: scheduled(48, 8192, True), 268.5, 0.05),
    ],
)
def test_published_versions_of_add(made, measured, within):
    assert made().us == pytest.approx(measured, rel=within)


def test_one_tile_by_hand():
    # 8192 halves on 910B1: two operands of 16384/24 + 14 cycles = 1393.3 -> 0.7532 us; 64 repeats * 2.7 = 172.8 -> 0.0934;
    # out 16384/28 + 14 = 599.1 -> 0.3239
    loop = scheduled(48, 8192, True).prediction.loop
    assert (loop.mte2, loop.vector, loop.mte3) == pytest.approx((0.7532, 0.0934, 0.3239), abs=1e-4)
    assert loop.scalar == 0


def test_two_buffers_hide_the_shorter_engines():
    shape = (1024, 1024)
    one, two = (scheduled(48, 4096, doubled, shape=shape) for doubled in (False, True))
    loop = one.prediction.loop
    # 1048576 / 48 = 21846 elements a core, 6 tiles
    assert one.prediction.loops == two.prediction.loops == 6
    assert one.us == pytest.approx(1.05 + 6 * (loop.mte2 + loop.vector + loop.mte3), abs=0.001)
    assert two.us == pytest.approx(1.05 + loop.vector + loop.mte3 + 6 * loop.mte2, abs=0.001)
    assert "MTE2 longest" in two.picture()
    assert two.picture().splitlines()[0].startswith("MTE2 1")


def test_a_tile_that_does_not_fit_is_refused_with_its_parts():
    with pytest.raises(tbe.TbeError, match=r"196608 B \(x 131072, y 131072, vadd_\d+ 131072\)") as refused:
        scheduled(48, 32768, True)
    assert "smaller factor" in refused.value.next
    assert scheduled(48, 32768, False).prediction.held["x"] == 65536  # without the second buffer it fits exactly


def test_runs_are_whole_blocks():
    with pytest.raises(tbe.TbeError, match="runs of 34 B"):
        scheduled(48, 17, False)


def test_a_vector_instruction_needs_its_operands_in_ub():
    *_, z = add((64, 64))
    schedule = tbe.create_schedule(z)
    schedule[z].emit_insn(schedule[z].axes[0], "vector_add")
    with pytest.raises(tbe.TbeError, match="x lies in global memory"):
        tbe.build(schedule, chip=B3)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda x, s, st: s[tbe.placeholder((4,))], "no part|not part"),
        (lambda x, s, st: st.split(st.axes[0]), "factor 0 and nparts 0"),
        (lambda x, s, st: st.split(Axis("other", 4, (0,)), factor=2), "other is no axis"),
        (lambda x, s, st: st.bind(st.axes[1]), "not the outermost"),
        (lambda x, s, st: st.set_scope("local.L3"), "local.L3"),
        (lambda x, s, st: st.emit_insn(None, "vector_mul"), "computed by vector_add"),
        (lambda x, s, st: s[x].compute_inline(), "is an operand"),
        (lambda x, s, st: s.cache_write(x), "not the output"),
        (lambda x, s, st: tbe.dsl.vadd(x, tbe.placeholder((4,))), "vadd: x is float16"),
        (lambda x, s, st: tbe.placeholder((4, 0)), r"shape \(4, 0\)"),
        (lambda x, s, st: tbe.placeholder((4,), dtype="complex64"), "complex64"),
        (lambda x, s, st: tbe.dsl.broadcast(x, (3, 64)), "cannot be broadcast"),
    ],
)
def test_wrong_use_is_named(call, named):
    x, _y, z = add((64, 64))
    schedule = tbe.create_schedule(z)
    with pytest.raises(tbe.TbeError, match=named):
        call(x, schedule, schedule[z])


def test_arithmetic_is_numpys():
    rng = np.random.default_rng(1)
    a = rng.uniform(0.5, 2, (12, 40)).astype(np.float16)
    x = tbe.placeholder(a.shape, "x")
    top = tbe.dsl.reduce_max(x, 1, keepdims=True)
    power = tbe.dsl.vexp(tbe.dsl.vsub(x, tbe.dsl.broadcast(top, a.shape)))
    wide = tbe.dsl.cast_to(power, "float32")
    out = tbe.dsl.vdiv(wide, tbe.dsl.broadcast(tbe.dsl.reduce_sum(wide, 1, keepdims=True), a.shape))
    made = tbe.build(tbe.auto_schedule(out, B3), chip=B3)
    exponent = np.exp(a - a.max(1, keepdims=True)).astype(np.float32)
    np.testing.assert_array_equal(made.run(x=a), exponent / exponent.sum(1, keepdims=True))
    assert made.run(x=a).dtype == np.float32
    with pytest.raises(tbe.TbeError, match="no value for x"):
        made.run()
    with pytest.raises(tbe.TbeError, match="was given float32"):
        made.run(x=a.astype(np.float32))


def test_products_are_the_cost_models():
    a, b = tbe.placeholder((4096, 8192), "a"), tbe.placeholder((512, 8192), "b")
    made = tbe.build(tbe.auto_schedule(tbe.dsl.matmul(a, b, trans_b=True), B3), chip=B3)
    assert made.us == pytest.approx(185.5, rel=0.15)  # a training profile's bf16 product of that size
    left, right = (np.arange(6, dtype=np.float16).reshape(2, 3) for _ in "ab")
    small = tbe.dsl.matmul(tbe.placeholder((2, 3), "a"), tbe.placeholder((2, 3), "b"), trans_b=True)
    np.testing.assert_array_equal(tbe.build(tbe.create_schedule(small)).run(a=left, b=right), left @ right.T)


def test_the_schedule_found_is_no_slower_than_one_by_hand():
    *_, out = add((1000, 1000))
    found = tbe.build(tbe.auto_schedule(out, B3), chip=B3)
    assert found.us <= scheduled(40, 4096, True, B3, (1000, 1000)).us
    assert found.cost.block_dim == found.prediction.cores


def test_inline_and_fusion_keep_values_in_ub():
    """Each intermediate tensor of its own needs a buffer; computed inline it needs none."""
    x = tbe.placeholder((64, 1024), "x")
    middle = tbe.dsl.vadds(x, 1.0)
    out = tbe.dsl.vmuls(middle, 2.0)
    schedule = tbe.auto_schedule(out, B3)
    with_buffer = tbe.build(schedule, chip=B3).prediction.held
    schedule[middle].compute_inline()
    assert set(with_buffer) - set(tbe.build(schedule, chip=B3).prediction.held) == {middle.name}
