"""The other groups of --aic-metrics: worked by hand, and consistent with each other."""

import numpy as np
import pytest

from npu import soc
from npu.cost import Work, kernel
from npu.cost.counter_groups import GROUPS, NAMES, group_columns

B3, A910 = soc.find("910B3"), soc.find("910A")
WORKS = (
    (Work("matmul", "MatMulV2", "float16", (1, 4096, 4096, 4096), 67_108_864, 33_554_432), "FLOAT16"),
    (Work("vector", "Add", "float32", (1 << 20, 1), 8 << 20, 4 << 20), "FLOAT"),
    (Work("matmul", "QuantBatchMatmulV3", "int8", (1, 256, 256, 256), 131_072, 131_072), "INT8"),
    (Work("aicpu", "NonZero", "float32", (1000, 1), 4000, 8000), "FLOAT"),
)


def columns(group: str, chip=B3) -> dict[str, np.ndarray]:
    costs = [kernel(w, chip) for w, _ in WORKS]
    names = [n for n in costs[0].__slots__ if n.startswith(("aic_", "aiv_"))] + ["block_dim", "mix_block_dim", "flops"]
    table = {n: np.array([getattr(c, n) for c in costs], np.float64) for n in names}
    table |= {
        "read_bytes": np.array([w.read_bytes for w, _ in WORKS]),
        "write_bytes": np.array([w.write_bytes for w, _ in WORKS]),
    }
    return group_columns(group, table, np.array([d for _, d in WORKS], dtype=object), chip)


def test_bytes_by_hand():
    made = columns("MemoryAccess")
    assert made["aic_GM_to_L1_datas(KB)"][0] == 65536
    assert made["aic_L0C_to_GM_datas(KB)"][0] == 32768
    assert made["aiv_GM_to_UB_datas(KB)"][1] == 8192
    assert made["aiv_UB_to_GM_datas(KB)"][1] == 4096
    assert np.isnan(made["aiv_UB_to_GM_datas(KB)"][0])  # the vector cores took no part
    assert all(np.isnan(column[3]) for name, column in made.items())  # nor any core in an AI CPU kernel


def test_bandwidth_is_bytes_of_a_core_over_its_time():
    made, cost = columns("Memory"), kernel(WORKS[1][0], B3)
    assert made["aiv_ub_write_bw(GB/s)"][1] == pytest.approx((8 << 20) / 40 / cost.aiv_time)
    assert made["aiv_ub_read_bw(GB/s)"][1] == pytest.approx((4 << 20) / 40 / cost.aiv_time)
    assert made["aiv_main_mem_read_bw(GB/s)"][1] == 0  # 12 MB stay in the L2
    assert made["aic_l1_write_bw(GB/s)"][0] == made["aic_l2_read_bw(GB/s)"][0]


def test_what_mte1_brings_is_what_l1_gives():
    level0, memory = columns("MemoryL0"), columns("Memory")
    both = level0["aic_l0a_write_bw(GB/s)"] + level0["aic_l0b_write_bw(GB/s)"]
    np.testing.assert_allclose(memory["aic_l1_read_bw(GB/s)"], both)
    # mte1 moves at most 512 and 256 bytes a cycle, one after the other
    assert level0["aic_l0a_write_bw(GB/s)"][0] < 1.8 * 512 * 256 / (512 + 256)


def test_types_divide_the_units_time():
    made = columns("ArithmeticUtilization")
    mac = kernel(WORKS[0][0], B3)
    assert made["aic_mac_fp16_ratio"][0] == pytest.approx(mac.aic_mac / mac.aic_time)
    assert (made["aic_mac_int8_ratio"][0], made["aic_mac_fp16_ratio"][2]) == (0, 0)
    assert made["aic_mac_int8_ratio"][2] > 0
    assert made["aiv_vec_fp32_ratio"][1] > 0 == made["aiv_vec_fp16_ratio"][1] == made["aiv_vec_misc_ratio"][1]
    assert made["aic_cube_fops"][0] == 2 * 4096**3


def test_every_line_is_a_hit_or_a_miss():
    made = columns("L2Cache")
    lines = sum(made[f"aic_r{p}_read_cache_{k}"][0] for p in (0, 1) for k in ("hit", "miss_allocate"))
    assert lines == pytest.approx(67_108_864 / 512, abs=4)
    assert made["aiv_write_cache_miss_allocate"][1] == 0


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_has_its_blocks_in_file_order(group):
    split, combined = list(columns(group)), list(columns(group, A910))
    assert split[:2] == ["aicore_time(us)", "aic_total_cycles"]
    middle = split.index("aiv_time(us)")
    assert split[middle + 1] == "aiv_total_cycles"
    assert all(n.startswith("aic_") for n in split[2:middle])
    assert all(n.startswith("aiv_") for n in split[middle + 2 :])
    assert not any(n.startswith(("aic_", "aiv_")) for n in combined)
    assert group in NAMES


def test_columns_are_known_to_the_exporter():
    from profiler.export import words

    known = {(r["group"], r["name"]) for r in words.rows_of("pmu.csv")}
    for group in GROUPS:
        bare = {n.removeprefix("aic_").removeprefix("aiv_") for n in columns(group)} - {
            "aicore_time(us)",
            "total_cycles",
            "time(us)",
        }
        assert {(group, n) for n in bare} <= known
