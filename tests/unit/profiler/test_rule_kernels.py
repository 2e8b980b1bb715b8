"""Rules 11 to 18 on files of kernels: what could fall away, be one kernel, or be shorter. Times in us, kernels 1 apart."""

from __future__ import annotations

import pytest

from profiler.texts import claim
from tests.made import Made
from tests.unit.profiler.eager import Eager, bare
from tests.unit.profiler.said import loud, said

Kernel = tuple[str, float, dict[str, object]]
MATMUL: Kernel = ("MatMulV2", 100.0, {"task_type": "AI_CORE", "in_shapes": "32,64;64,64", "out_shapes": "32,64"})


def gain(made: Made, rule: str) -> float:
    (finding,) = said(made, rule)
    assert finding.gain is not None
    return finding.gain.ns / 1000


class TestSmallKernelChain:
    def chain(self, times: int = 6, us: float = 2, ops: tuple[str, ...] = ("Add", "Mul", "Relu")) -> Made:
        return bare(([MATMUL, *((op, us, {}) for op in ops)]) * times)

    def test_positive(self) -> None:
        """Of each run of three kernels of 2 one stays: 2 * (2 + 1) saved, six times."""
        (finding,) = said(self.chain(), "small-kernel-chain")
        assert (finding.facts["runs"], finding.facts["kernels"], finding.facts["span_ns"]) == (6, 18, 6 * 8_000)
        assert (finding.facts["chain"], finding.facts["length"]) == ("Add + Mul + Relu", 3)
        assert gain(self.chain(), "small-kernel-chain") == 6 * 6

    def test_near_miss_four_times(self) -> None:
        assert said(self.chain(times=4), "small-kernel-chain") == []

    def test_near_miss_two_kernels(self) -> None:
        assert said(self.chain(ops=("Add", "Mul")), "small-kernel-chain") == []

    def test_near_miss_ten_microseconds_each(self) -> None:
        assert said(self.chain(us=10), "small-kernel-chain") == []

    def test_near_miss_a_hundredth_of_the_window(self) -> None:
        made = bare(([("MatMulV2", 900.0, {}), *((op, 2.0, {}) for op in ("Add", "Mul", "Relu"))]) * 6)
        assert said(made, "small-kernel-chain") == []

    def test_near_miss_inside_one_launch_of_a_model(self) -> None:
        made = self.chain()
        for row in made.rows["task"]:
            row["model"] = 1
        assert said(made, "small-kernel-chain") == []

    def test_clean_products_are_no_chain(self) -> None:
        assert said(bare([("Conv2D", 5.0, {})] * 40), "small-kernel-chain") == []


class TestLayoutStorm:
    def run(self, us: float = 20, times: int = 10, **facts: object) -> Made:
        return bare([("TransData", us, facts), MATMUL] * times)

    def test_positive(self) -> None:
        """200 of 1200 computing; without them 200 and nine gaps less (the first has none before it)."""
        (finding,) = loud(self.run(), "layout-storm")
        assert (finding.facts["count"], finding.facts["top"], finding.facts["top_count"]) == (10, "TransData", 10)
        assert (finding.facts["total_ns"], finding.facts["computing_share"]) == (200_000, pytest.approx(1 / 6))
        assert finding.facts["before"] == "MatMulV2"
        assert finding.gain is not None
        assert (finding.gain.ns, finding.gain.at_most) == (209_000, True)

    def test_there_and_back_is_counted(self) -> None:
        there: Kernel = (
            "TransData",
            20,
            {"in_formats": "ND", "out_formats": "NZ", "in_shapes": "64,64", "out_shapes": "4,4,16,16"},
        )
        back: Kernel = (
            "TransData",
            20,
            {"in_formats": "NZ", "out_formats": "ND", "in_shapes": "4,4,16,16", "out_shapes": "64,64"},
        )
        (finding,) = said(bare([there, MATMUL, back] * 4), "layout-storm")
        assert finding.facts["pairs"] == 7  # each but the last is undone by the next one of the other direction

    def test_near_miss_two(self) -> None:
        assert said(self.run(times=2), "layout-storm") == []

    def test_near_miss_small_and_off_the_path(self) -> None:
        made = Made()
        made.task("kernel", 0, 10_000, op_type="MatMulV2", stream=1)
        for number in range(10):
            made.task("kernel", number * 100, number * 100 + 40, op_type="TransData", stream=2)
        assert said(made, "layout-storm") == []

    def test_near_miss_at_the_border_of_a_model(self) -> None:
        run = Eager()
        for number in range(10):
            correlation = number + 1
            run.made.api("aclmdlExecuteAsync", run.now, run.now + 5, correlation=correlation, blocking=0)
            at = run.now + 2
            for op in ("TransData", "MatMulV2", "TransData"):
                run.made.task("kernel", at, at + 20, correlation=correlation, model=1, op_type=op)
                at += 21
            run.now += 70
        assert said(run.made, "layout-storm") == []

    def test_clean(self) -> None:
        assert said(bare([MATMUL] * 10), "layout-storm") == []

    def test_it_is_said_even_where_other_waiting_hides_it(self) -> None:
        """The device waits 1000 for the host between steps: the conversions are not what it waits for."""
        run = Eager()
        for _ in range(5):
            run.begin()
            run.user(1000)
            for _ in range(4):
                run.launch("TransData", 6, host=20)
                run.launch("MatMulV2", 6, host=20)
            run.user(1)
            run.end()
        (finding,) = loud(run.made, "layout-storm")
        assert finding.regardless


class TestWeightLayout:
    def run(self, times: int = 8, second: str = "32,4096;256,256,16,16", **facts: object) -> Made:
        conversion: Kernel = (
            "TransData",
            38,
            {
                "in_shapes": "4096,4096",
                "in_formats": "ND",
                "out_shapes": "256,256,16,16",
                "out_formats": "FRACTAL_NZ",
                **facts,
            },
        )
        product: Kernel = ("MatMulV2", 61, {"in_shapes": second, "out_shapes": "32,4096"})
        return bare([conversion, product] * times)

    def test_positive(self) -> None:
        (finding,) = loud(self.run(), "weight-layout-each-call")
        assert (finding.facts["count"], finding.facts["weights"], finding.facts["format"]) == (8, 1, "FRACTAL_NZ")
        assert (finding.facts["shapes"], finding.facts["user"]) == ("[4096,4096]", "MatMulV2")
        assert finding.facts["computing_share"] == pytest.approx(38 / 99)
        assert finding.gain is not None and finding.gain.ns == 8 * 38_000 + 7 * 1_000

    def test_near_miss_twice(self) -> None:
        assert said(self.run(times=2), "weight-layout-each-call") == []

    def test_near_miss_the_first_operand_is_data(self) -> None:
        assert said(self.run(second="256,256,16,16;4096,32"), "weight-layout-each-call") == []

    def test_near_miss_a_kernel_writes_it(self) -> None:
        made = self.run()
        made.task("kernel", 900, 910, op_type="ForeachAddList", in_shapes="64;4096,4096", out_shapes="64;4096,4096")
        assert said(made, "weight-layout-each-call") == []

    def test_recorded_buffers_decide(self) -> None:
        assert len(said(self.run(reads="7+0:64", writes="8+0:64"), "weight-layout-each-call")) == 1
        assert said(self.run(reads="7+0:64", writes="7+0:64"), "weight-layout-each-call") == []


class TestCastStorm:
    there: Kernel = ("Cast", 10, {"in_dtypes": "FLOAT16", "out_dtypes": "FLOAT", "in_shapes": "64,64"})
    back: Kernel = ("Cast", 10, {"in_dtypes": "FLOAT", "out_dtypes": "FLOAT16", "in_shapes": "64,64"})

    def test_round_trips(self) -> None:
        """Ten casts of 10 and nine gaps: the first kernel has none before it."""
        made = bare([self.there, ("Add", 30, {}), self.back, MATMUL] * 5)
        (finding,) = loud(made, "cast-storm")
        assert (finding.facts["count"], finding.facts["pairs"], finding.facts["source"]) == (10, 5, "FLOAT16")
        assert gain(made, "cast-storm") == 109

    def test_one_way_casts_by_their_share(self) -> None:
        made = bare([self.there, MATMUL] * 5)
        (finding,) = said(made, "cast-storm")
        assert (finding.facts["pairs"], finding.facts["computing_share"]) == (0, pytest.approx(50 / 550))
        assert finding.gain is not None and finding.gain.at_most

    def test_near_miss_two_percent(self) -> None:
        made = bare([("Cast", 2, {"in_dtypes": "FLOAT16", "out_dtypes": "FLOAT"}), MATMUL] * 5)
        assert said(made, "cast-storm") == []

    def test_near_miss_master_weights_of_an_optimizer(self) -> None:
        made = bare([self.there, ("ApplyAdamW", 30, {}), self.back, MATMUL] * 5)
        assert said(made, "cast-storm") == []

    def test_near_miss_casts_on_the_ai_cpu(self) -> None:
        made = Made()
        for number in range(10):
            made.task("aicpu", number * 100, number * 100 + 90, op_type="Cast", in_dtypes="INT64", out_dtypes="INT32")
        assert said(made, "cast-storm") == []


class TestContiguousCopies:
    def test_positive(self) -> None:
        made = bare([("AsStrided", 20, {"in_shapes": "64,64"}), MATMUL] * 5)
        (finding,) = loud(made, "contiguous-copies")
        assert (finding.facts["count"], finding.facts["ops"], finding.facts["before"]) == (5, "AsStrided", "MatMulV2")
        assert gain(made, "contiguous-copies") == 5 * 20 + 4

    def test_near_miss_four_percent(self) -> None:
        assert said(bare([("AsStrided", 4, {}), MATMUL] * 5), "contiguous-copies") == []

    def test_near_miss_two(self) -> None:
        assert said(bare([("AsStrided", 20, {}), MATMUL] * 2), "contiguous-copies") == []


class TestZeroFill:
    def test_positive(self) -> None:
        made = bare([("MemSet", 5, {}), MATMUL] * 20)
        (finding,) = loud(made, "zero-fill")
        assert (finding.facts["count"], finding.facts["total_ns"]) == (20, 100_000)
        assert gain(made, "zero-fill") == 20 * 5 + 19

    def test_near_miss_one_and_a_half_percent(self) -> None:
        assert said(bare([("MemSet", 1.5, {}), MATMUL] * 20), "zero-fill") == []

    def test_one_before_each_kernel_that_adds_up_with_atomics(self) -> None:
        """1.5 of 101.5 is under two percent, but each is there for the operator behind it: 20 * 1.5 and the 19 gaps."""
        run: list[Kernel] = [("MemSet", 1.5, {}), ("ScatterNdAdd", 100, {})]
        (finding,) = loud(bare(run * 40), "zero-fill")
        assert (finding.facts["case"], finding.facts["count"], finding.facts["before"]) == ("atomic", 40, "ScatterNdAdd")
        assert gain(bare(run * 40), "zero-fill") == 40 * 1.5 + 39
        assert "adds into it from several cores" in claim(finding) and "从多个核累加" in claim(finding, "zh")

    def test_near_miss_not_before_each_of_them(self) -> None:
        run: list[Kernel] = [("MemSet", 1.5, {}), ("ScatterNdAdd", 100, {})]
        assert said(bare(run * 20 + [("ScatterNdAdd", 100, {})]), "zero-fill") == []
        assert said(bare(run * 2), "zero-fill") == []


class TestPerTensorOptimizer:
    def run(self, pairs: int = 30, us: float = 3, **facts: object) -> Made:
        return bare([MATMUL, *([("Mul", us, facts), ("Add", us, facts)] * pairs)])

    def test_positive(self) -> None:
        """60 kernels of 3 and their gaps become two of 3: 58 * (3 + 1) saved."""
        (finding,) = loud(self.run(), "per-tensor-optimizer")
        assert (finding.facts["count"], finding.facts["kinds"]) == (60, 2)
        assert finding.gain is not None and finding.gain.ns == 58 * 4_000

    def test_large_tensors_cost_their_bytes(self) -> None:
        """30 Mul of 16 MiB in and out at 1600 GB/s: 32 MiB * 30 / 1600 = 629 us, and as much for Add."""
        made = self.run(us=30, in_shapes="4194304", in_dtypes="FLOAT", out_shapes="4194304", out_dtypes="FLOAT")
        merged = 30 * 2 * (16 << 20) / 1600 / 1000
        assert gain(made, "per-tensor-optimizer") == pytest.approx(60 * 30 + 58 - 2 * merged, rel=0.001)

    def test_near_miss_49_kernels(self) -> None:
        assert said(self.run(pairs=24), "per-tensor-optimizer") == []

    def test_near_miss_not_at_the_end(self) -> None:
        made = self.run()
        made.task("kernel", 5000, 5100, op_type="MatMulV2")
        assert said(made, "per-tensor-optimizer") == []

    def test_near_miss_nothing_but_such_kernels(self) -> None:
        assert said(bare([("Mul", 3.0, {})] * 60), "per-tensor-optimizer") == []

    def test_clean_a_foreach_optimizer(self) -> None:
        assert said(bare([MATMUL] * 3 + [("ForeachAddList", 50, {})] * 60), "per-tensor-optimizer") == []


SQUARE = {"in_shapes": "1024,1024;1024,1024", "in_formats": "ND;ND", "out_shapes": "1024,1024", "out_formats": "ND"}


class TestFullPrecisionCube:
    def run(self, dtype: str = "FLOAT", op: str = "MatMulV2", us: float = 200, other: float = 10) -> Made:
        facts = {**SQUARE, "in_dtypes": f"{dtype};{dtype}", "out_dtypes": dtype, "task_type": "AI_CORE"}
        return bare([(op, us, facts), ("Add", other, {})] * 4)

    def test_positive(self) -> None:
        """fp32 takes four passes: 200 become 50, four times; 6 MiB at 1600 GB/s would allow 4."""
        (finding,) = loud(self.run(), "full-precision-cube")
        assert (finding.facts["count"], finding.facts["ratio"]) == (4, 4.0)
        assert finding.gain is not None
        assert (finding.gain.ns, finding.gain.method) == (4 * 150_000, "model")

    def test_bounded_by_the_bytes(self) -> None:
        """A kernel of 5 could become 1.25, but half its bytes take 6291456 / 1600 = 3932."""
        assert gain(self.run(us=5, other=1), "full-precision-cube") == pytest.approx(4 * (5 - 3.932), rel=0.01)

    def test_near_miss_half_precision(self) -> None:
        assert said(self.run(dtype="FLOAT16"), "full-precision-cube") == []

    def test_near_miss_nine_percent(self) -> None:
        assert said(self.run(us=9, other=100), "full-precision-cube") == []

    def test_near_miss_it_was_asked_for(self) -> None:
        made = self.run()
        made.meta["precision_mode"] = "must_keep_origin_dtype"
        assert said(made, "full-precision-cube") == []

    def test_near_miss_the_model_was_converted_to_keep_it(self) -> None:
        made = self.run()
        for row in made.rows["task"]:
            row["model"] = 2
        made.meta["model_2"] = {"build": {"precision_mode": "must_keep_origin_dtype"}}
        assert said(made, "full-precision-cube") == []
        made.meta["model_2"] = {"build": {"precision_mode": "allow_fp32_to_fp16"}}
        assert len(said(made, "full-precision-cube")) == 1


RULES = (
    "small-kernel-chain",
    "layout-storm",
    "weight-layout-each-call",
    "cast-storm",
    "contiguous-copies",
    "zero-fill",
    "per-tensor-optimizer",
    "full-precision-cube",
)


@pytest.mark.parametrize("rule", RULES)
def test_traces_without_operator_types_say_nothing(rule: str) -> None:
    made = Made()
    for number in range(100):
        made.task("kernel", number * 10, number * 10 + 9)
    assert said(made, rule) == []


@pytest.mark.parametrize("rule", RULES)
def test_a_clean_network_is_silent(rule: str) -> None:
    products = [("Conv2D", 60.0, {"in_dtypes": "FLOAT16;FLOAT16"}), ("MatMulV2", 40.0, {"in_dtypes": "FLOAT16;FLOAT16"})]
    assert said(bare([*products, ("Softmax", 12.0, {})] * 20), rule) == []  # type: ignore[list-item]
