"""What rule 6 foretells of a step as one graph: which kernels are left, and how long they take. Times in us."""

from __future__ import annotations

import pytest

from tests.unit.profiler.eager import Eager
from tests.unit.profiler.said import loud

STEPS = 4
HOST = 30.0  # of a launch: the device waits for every one


def foretold(chain: list[tuple[str, float]], times: int, shape: str = "4,8") -> tuple[int, float]:
    """(kernels that are left, gain) of a step in which these kernels come so many times."""
    run = Eager()
    for _ in range(STEPS):
        run.begin()
        for _ in range(times):
            for op, us in chain:
                run.launch(op, us, host=HOST, out_shapes=shape)
        run.end()
    (finding,) = loud(run.made, "single-op-mode")
    assert finding.gain is not None
    return int(str(finding.facts["left"])), finding.gain.ns / STEPS / 1000


def gain(launches: int, kernels: list[float]) -> float:
    """A step takes its launches and 1 for the wait; as one graph kernels from 2 on, 0.6 between them, and 1."""
    return launches * HOST + 1 - (2 + sum(kernels) + 0.6 * (len(kernels) - 1) + 1)


def test_formats_between_convolutions_and_activations_fall_away() -> None:
    """The first and the last change of format and that of each filter stay; Relu goes into Conv2D."""
    chain = [("TransData", 8.0), ("TransData", 8.0), ("Conv2D", 2.0), ("TransData", 8.0), ("Relu", 2.0)]
    left, gained = foretold(chain, 40)
    assert left == 42 + 40
    assert gained == pytest.approx(gain(200, [8.0] * 42 + [2.0] * 40), rel=1e-3)


def test_a_kernel_that_works_in_another_format_ends_the_stretch() -> None:
    chain = [("TransData", 8.0), ("TransData", 8.0), ("Conv2D", 2.0), ("TransData", 8.0), ("SoftmaxV2", 2.0)]
    assert foretold(chain, 40)[0] == 200


def test_elementwise_kernels_of_one_shape_become_one_up_to_eight() -> None:
    """203 in a row: 25 kernels of eight and one of three, each as long as its longest."""
    left, gained = foretold([("Add", 2.0)] * 202 + [("Mul", 3.0)], 1)
    assert left == 26
    assert gained == pytest.approx(gain(203, [2.0] * 25 + [3.0]), rel=1e-3)


def test_an_addition_goes_into_the_normalisation_behind_it() -> None:
    left, gained = foretold([("MatMulV2", 4.0), ("Add", 2.0), ("LayerNormV3", 8.0)], 70)
    assert left == 140
    assert gained == pytest.approx(gain(210, [4.0, 8.0] * 70), rel=1e-3)


def test_products_keep_their_time_and_take_the_activation() -> None:
    left, gained = foretold([("MatMulV2", 4.0), ("Gelu", 5.0)], 100)
    assert left == 100
    assert gained == pytest.approx(gain(200, [4.0] * 100), rel=1e-3)


def test_passes_that_need_constant_weights_are_left_out() -> None:
    assert foretold([("Conv2D", 4.0), ("BNInfer", 2.0)], 100)[0] == 200


def test_a_call_of_the_library_may_launch_several_kernels() -> None:
    """100 calls with two kernels each count as single operators; with nine each they are something else."""
    for kernels, said in ((2, 1), (9, 0)):
        run = Eager()
        for _ in range(STEPS):
            run.begin()
            for _ in range(100):
                run.launch("MemSet", 1.0, host=40)
                for _ in range(kernels - 1):
                    run.made.task("kernel", run.busy + 1, run.busy + 3, correlation=run.count, op_type="ReduceSum",
                                  name="ReduceSum", task_type="AI_VECTOR_CORE", block_dim=40)  # fmt: skip
                    run.busy += 3
            run.end()
        assert len(loud(run.made, "single-op-mode")) == said
