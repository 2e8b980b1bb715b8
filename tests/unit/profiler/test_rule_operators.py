"""Rules 45 to 49, 55 and 57 on files of kernels: where operators run, on which shapes and types. Times in us, kernels 1 apart."""

from __future__ import annotations

import pytest

from npu.cost import Work
from tests.made import Made
from tests.unit.profiler.eager import bare
from tests.unit.profiler.kernel_rows import OTHER, gain, matmul, matmul_us, model_us, unary
from tests.unit.profiler.said import loud, said


class TestAicpuOnPath:
    def run(self, op: str = "Greater", dtype: str = "INT64", us: float = 410, other: float = 120, times: int = 4) -> Made:
        made, now = Made(), 0.0
        for _ in range(times):
            made.task("kernel", now, now + other, op_type="MatMulV2", task_type="AI_CORE", block_dim=20)
            facts = {"in_shapes": "512,1024;1", "in_dtypes": f"{dtype};{dtype}", "in_formats": "ND;ND", "out_formats": "ND"}
            facts |= {"out_shapes": "512,1024", "out_dtypes": "BOOL", "task_type": "AI_CPU"}
            made.task("aicpu", now + other + 1, now + other + 1 + us, op_type=op, **facts)
            now += other + us + 2
        return made

    def test_positive(self) -> None:
        """Four of 410 become vector kernels over 524,288 elements of 4 bytes in and 1 out."""
        (finding,) = loud(self.run(), "aicpu-on-path")
        on_cores = model_us(Work("vector", "Greater", "int32", (524288, 512), 524289 * 4, 524288))
        assert (finding.id, finding.facts["ops"], finding.facts["count"]) == ("aicpu-on-path", "Greater (INT64)", 4)
        assert (finding.facts["critical_ns"], finding.severity) == (1_640_000, "critical")
        assert finding.gain is not None
        assert finding.gain.ns / 1000 == pytest.approx(4 * (410 - on_cores), abs=0.01)

    def test_other_operators_lack_a_kernel(self) -> None:
        (finding,) = loud(self.run("Bincount", "FLOAT"), "aicpu-on-path")
        assert (finding.id, finding.facts["ops"]) == ("aicpu-operator", "Bincount (FLOAT)")

    def test_unknown_shapes_are_at_most(self) -> None:
        made = Made()
        made.task("kernel", 0, 100, op_type="MatMulV2")
        made.task("aicpu", 101, 201, op_type="Cast", task_type="AI_CPU", in_dtypes="INT64")
        (finding,) = said(made, "aicpu-on-path")
        assert finding.gain is not None and (finding.gain.ns, finding.gain.at_most) == (100_000 - 1_050, True)

    def test_near_miss_under_half_a_percent(self) -> None:
        assert said(self.run(us=5, other=1000), "aicpu-on-path") == []

    def test_near_miss_beside_a_busy_core(self) -> None:
        made = Made()
        made.task("kernel", 0, 1000, op_type="MatMulV2", stream=1)
        made.task("aicpu", 100, 600, op_type="Greater", in_dtypes="INT64", stream=2)
        assert said(made, "aicpu-on-path") == []

    @pytest.mark.parametrize("op", ["hcom_allReduce_AicpuKernel", "AicpuKfcRpcServer", "GetNext"])
    def test_clean_collectives_and_input(self, op: str) -> None:
        assert said(self.run(op), "aicpu-on-path") == []

    def test_sums_only(self) -> None:
        made = Made()
        sums = {"op_type": ["MatMulV2", "NonZero"], "core_type": ["AI_CORE", "AI_CPU"], "count": [10, 5], "total": [900, 100]}
        made.meta["tables"] = {"op_statistic": sums}
        (finding,) = said(made, "aicpu-on-path")
        assert (finding.id, finding.facts["ops"], finding.facts["computing_share"]) == ("aicpu-operator", "NonZero", 0.1)
        assert finding.gain is not None and (finding.gain.ns, finding.gain.at_most) == (100, True)
        sums["total"] = [9_000, 100]  # 1.1 %
        assert said(made, "aicpu-on-path") == []


class TestLowCubeUse:
    def run(self, us: float = 400, mac: float = 0.3, other: float = 0.5, m: int = 2048, **more: object) -> Made:
        pipes = {"aic_mac_ratio": mac, "aic_mte2_ratio": other}
        return bare([matmul(us, m, 1024, 1024, **pipes, **more), OTHER] * 4)

    def test_positive_down_to_the_model(self) -> None:
        (finding,) = loud(self.run(), "low-cube-use")
        assert (finding.facts["count"], finding.facts["mac_share"], finding.facts["fill_share"]) == (4, pytest.approx(0.3), 1.0)
        floor = 2 * 2048 * 1024 * 1024 / (2 * 4096 * 20 * 1.8) / 1000
        assert finding.facts["efficiency_share"] == pytest.approx(floor / 400, rel=1e-3)
        assert finding.gain is not None
        assert finding.gain.ns / 1000 == pytest.approx(4 * (400 - matmul_us(2048, 1024, 1024)), rel=1e-3)

    def test_never_claims_room_where_the_cube_works(self) -> None:
        assert said(self.run(mac=0.8), "low-cube-use") == []

    @pytest.mark.parametrize("m", [1, 16])
    def test_near_miss_flat_products(self, m: int) -> None:
        assert said(self.run(m=m), "low-cube-use") == []
        assert len(said(self.run(m=17), "low-cube-use")) == 1

    def test_near_miss_close_to_the_model(self) -> None:
        usual = matmul_us(2048, 1024, 1024)
        assert said(self.run(us=1.2 * usual), "low-cube-use") == []
        assert len(said(self.run(us=1.3 * usual), "low-cube-use")) == 1

    def test_near_miss_bound_by_another_pipe_at_half_the_roofline(self) -> None:
        floor = 2 * 2048 * 1024 * 1024 / (2 * 4096 * 20 * 1.8) / 1000
        assert said(self.run(us=floor / 0.51, mac=0.55, other=0.9), "low-cube-use") == []

    def test_near_miss_mixed_with_vector_work(self) -> None:
        assert said(self.run(task_type="MIX_AIC"), "low-cube-use") == []

    def test_near_miss_four_percent(self) -> None:
        made = bare([matmul(400, 2048, 1024, 1024, aic_mac_ratio=0.3), ("Relu", 9600.0, {})])
        assert said(made, "low-cube-use") == []

    def test_unknown_chip(self) -> None:
        made = self.run()
        del made.meta["soc"]
        assert said(made, "low-cube-use") == []


class TestBlockTail:
    def run(self, blocks: int, us: float = 100, **more: object) -> Made:
        return bare([("Conv2D", us, {"task_type": "AI_CORE", "block_dim": blocks, **more}), OTHER] * 4)

    def test_positive(self) -> None:
        """21 blocks for 20 cores: two rounds of 20 for 21, so 100 become 52.5."""
        (finding,) = loud(self.run(21), "block-tail")
        assert (finding.facts["blocks"], finding.facts["cores"], finding.facts["count"]) == (21, 20, 4)
        assert gain(self.run(21), "block-tail") == pytest.approx(4 * 47.5, abs=0.01)

    def test_fewer_blocks_than_cores(self) -> None:
        assert gain(self.run(16), "block-tail") == pytest.approx(4 * 20, abs=0.01)

    @pytest.mark.parametrize("blocks", [17, 20, 33, 40, 256])
    def test_near_miss_nearly_full(self, blocks: int) -> None:
        """17 of 20: 1.18; 33 of 40: 1.21; 256 of 260: 1.02."""
        assert said(self.run(blocks), "block-tail") == []

    def test_near_miss_19_us(self) -> None:
        assert said(self.run(10, us=19.9), "block-tail") == []

    def test_near_miss_at_the_memory_s_speed(self) -> None:
        """80 MB in and out at 1600 GB/s take 100: more cores would not help."""
        facts = {
            "in_shapes": "40000000",
            "in_dtypes": "FLOAT16",
            "in_formats": "ND",
            "out_formats": "ND",
            "out_dtypes": "FLOAT16",
        }
        made = bare([("Relu", 100.0, {"block_dim": 20, "out_shapes": "40000000", **facts}), OTHER] * 4)
        assert said(made, "block-tail") == []

    def test_near_miss_another_kernel_uses_the_rest(self) -> None:
        made = self.run(10)
        made.task("kernel", 0, 900, op_type="Gemm", task_type="AI_CORE", block_dim=20, stream=2)
        assert said(made, "block-tail") == []

    def test_random_numbers_have_an_engine_of_their_own(self) -> None:
        assert said(self.run(1, task_type="DSA_SQE"), "block-tail") == []


class TestUnalignedAxis:
    def run(self, us: float = 200, good_us: float = 100, k: int = 1000) -> Made:
        return bare([matmul(us, 2048, k, 1024), matmul(good_us, 2048, 1024, 1024)] * 4)

    def test_positive_against_aligned_neighbours(self) -> None:
        """Rows of 2000 bytes. Operations are in the ratio 1000 to 1024: at the neighbours' efficiency 200 become 97.66, padded
        to 1024 as long as them."""
        (finding,) = loud(self.run(), "unaligned-axis")
        assert finding.facts["count"] == 4
        assert finding.facts["efficiency_share"] == pytest.approx(finding.facts["neighbour_share"] * 0.5 * 1000 / 1024, rel=1e-3)  # type: ignore[operator]
        more = max(1.0, matmul_us(2048, 1024, 1024) / matmul_us(2048, 1000, 1024))
        assert gain(self.run(), "unaligned-axis") == pytest.approx(4 * (200 - 100 * 1000 / 1024 * more), rel=2e-3)

    def test_near_miss_as_good_as_its_neighbours(self) -> None:
        assert said(self.run(us=120), "unaligned-axis") == []

    def test_near_miss_aligned(self) -> None:
        assert said(self.run(k=1152), "unaligned-axis") == []

    def test_near_miss_small(self) -> None:
        """2 * (100 * 100 * 3) bytes."""
        assert said(bare([matmul(200, 100, 100, 100), matmul(2, 128, 128, 128)] * 4), "unaligned-axis") == []

    def test_without_neighbours_the_model_tells(self) -> None:
        made = bare([matmul(200, 2048, 1000, 1024), OTHER] * 4)
        (finding,) = said(made, "unaligned-axis")
        assert finding.gain is not None and finding.gain.at_most
        del made.meta["soc"]
        assert said(made, "unaligned-axis") == []


class TestBandwidthBound:
    def run(self, rate: float = 0.9, size: int = 32_000_000, pipe: float = 0.95, same: bool = True) -> Made:
        """Tensors of 64 MB: in and out at 1600 GB/s take 80 over the rate."""
        us = 4 * size / 1600 / 1000 / rate
        second = str(size) if same else f"2,{size // 2}"
        kernels = [unary(op, us, shape, "FLOAT16", aiv_mte2_ratio=pipe) for op, shape in (("Mul", str(size)), ("Relu", second))]
        return bare([*kernels, matmul(100, 2048, 1024, 1024)] * 4)

    def test_positive(self) -> None:
        """Half of each kernel's bytes is the tensor between the two: all eight last half as long."""
        (finding,) = loud(self.run(), "bandwidth-bound")
        assert (finding.facts["pairs"], finding.facts["count"]) == (4, 8)
        assert finding.facts["rate_share"] == pytest.approx(0.9, rel=1e-3)
        assert gain(self.run(), "bandwidth-bound") == pytest.approx(8 * 80 / 0.9 / 2, rel=1e-3)

    def test_nothing_to_fuse_is_a_note_without_gain(self) -> None:
        (finding,) = loud(self.run(same=False), "bandwidth-bound")
        assert (finding.id, finding.severity, finding.gain) == ("bandwidth-bound-alone", "note", None)

    def test_near_miss_three_quarters_of_the_bandwidth(self) -> None:
        assert said(self.run(rate=0.75), "bandwidth-bound") == []

    def test_near_miss_pipes_below_seventy_percent(self) -> None:
        assert said(self.run(pipe=0.6), "bandwidth-bound") == []

    def test_kernels_that_only_move_data_belong_to_other_rules(self) -> None:
        made = bare([unary("TransData", 80, "32000000", "FLOAT16"), unary("TransData", 80, "32000000", "FLOAT16")] * 4)
        assert said(made, "bandwidth-bound") == []


class TestSubstitutableOp:
    def test_positive(self) -> None:
        """Four of 200 become a multiplication of 1,048,576 elements: 4 MiB in and out of FLOAT."""
        made = bare([unary("IndexPutV2", 200, "1024,1024", "FLOAT"), OTHER] * 4)
        (finding,) = loud(made, "substitutable-op")
        assert (finding.facts["ops"], finding.facts["count"]) == ("IndexPutV2", 4)
        assert "torch.where" in str(finding.facts["instead"])
        multiply = model_us(Work("vector", "Mul", "float32", (1 << 20, 1024), 4 << 20, 4 << 20))
        assert gain(made, "substitutable-op") == pytest.approx(4 * (200 - multiply), abs=0.01)
        assert finding.gain is not None and (finding.gain.at_most, finding.gain.confidence) == (True, "low")

    def test_a_sum_counts_only_behind_a_one_hot(self) -> None:
        behind = bare([unary("OneHot", 10, "1024", "INT32"), unary("ReduceSum", 200, "1024,1024", "FLOAT")] * 4)
        (finding,) = said(behind, "substitutable-op")
        assert finding.facts["instead"] == "OneHot + ReduceSum: torch.bincount or index_add_"
        assert said(bare([unary("ReduceSum", 200, "1024,1024", "FLOAT"), OTHER] * 4), "substitutable-op") == []

    def test_products_to_one_element(self) -> None:
        def run(out: str) -> Made:
            facts = {"in_shapes": "512,1,64;512,64,1", "in_dtypes": "FLOAT;FLOAT", "out_shapes": out, "out_dtypes": "FLOAT"}
            return bare([("BatchMatMulV2", 200.0, {**facts, "in_formats": "ND;ND", "out_formats": "ND"}), OTHER] * 4)

        assert len(said(run("512,1,1"), "substitutable-op")) == 1
        assert said(run("512,1,64"), "substitutable-op") == []

    def test_near_miss_two_percent(self) -> None:
        assert said(bare([unary("NonZero", 2, "1024", "BOOL"), OTHER] * 4), "substitutable-op") == []

    def test_sums_only(self) -> None:
        made = Made()
        sums = {"op_type": ["MatMulV2", "NonZero"], "core_type": ["AI_CORE", "AIV"], "count": [10, 5], "total": [900, 100]}
        made.meta["tables"] = {"op_statistic": sums}
        (finding,) = said(made, "substitutable-op")
        assert finding.gain is not None and (finding.gain.ns, finding.gain.at_most) == (100, True)


class TestWideTypes:
    def run(self, dtype: str = "INT64", us: float = 50, shape: str = "1024,1024", **more: object) -> Made:
        return bare([unary("Mul", us, shape, dtype, **more), OTHER] * 4)

    def test_positive(self) -> None:
        """By the cost model's ratio of int32 to int64 over 1,048,576 elements."""
        (finding,) = loud(self.run(), "fp64-int64-vector")
        assert (finding.facts["count"], finding.facts["types"], finding.facts["ops"]) == (4, "INT64", "Mul")
        wide, narrow = (
            model_us(Work("vector", "Mul", t, (1 << 20, 1024), size << 20, size << 20))
            for t, size in (("int64", 8), ("int32", 4))
        )
        assert narrow < wide
        assert gain(self.run(), "fp64-int64-vector") == pytest.approx(4 * 50 * (1 - narrow / wide), abs=0.01)

    @pytest.mark.parametrize("dtype", ["FLOAT", "INT32", "DT_BF16"])
    def test_clean_other_types(self, dtype: str) -> None:
        assert said(self.run(dtype), "fp64-int64-vector") == []

    def test_near_misses(self) -> None:
        assert said(self.run(us=2), "fp64-int64-vector") == []  # 1.96 %
        assert said(self.run(shape="3000000000"), "fp64-int64-vector") == []  # indices need 64 bits
        assert said(self.run(in_dtypes="FLOAT;INT64", in_shapes="64;1"), "fp64-int64-vector") == []  # a parameter only

    def test_ai_cpu_kernels_belong_to_rule_45(self) -> None:
        made = self.run()
        for row in made.rows["task"]:
            row["kind"] = 1
        assert said(made, "fp64-int64-vector") == []


def test_a_trace_without_tasks_is_silent() -> None:
    made = Made()
    made.api("aclrtMalloc", 0, 10)
    for rule in (
        "aicpu-on-path",
        "block-tail",
        "scalar-bound",
        "no-overlap-in-kernel",
        "frequency-drop",
        "l2-misses",
        "memory-trouble",
    ):
        assert said(made, rule) == []
