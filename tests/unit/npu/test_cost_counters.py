"""PipeUtilization columns: the identities of real files, for scalars and for columns."""

import math
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest

from npu import soc
from npu.cost import Cost, Work, kernel
from npu.cost.counters import PIPE_UTILIZATION, PIPE_UTILIZATION_COMBINED, pipe_utilization

B3, A910 = soc.find("910B3"), soc.find("910A")
UNITS = [n for n in Cost.__slots__ if n.startswith(("aic_", "aiv_"))]
NOTHING = dict.fromkeys(UNITS, 0.0)

KERNELS = [
    kernel(Work("matmul", "MatMulV2", "bfloat16", (1, 4096, 512, 8192), 75_497_472, 4_194_304), B3),
    kernel(Work("vector", "Add", "bfloat16", (4194304, 1), 16_777_216, 8_388_608), B3),
    kernel(Work("attention", "FlashAttentionScore", "bfloat16", (2, 4, 4096, 2048, 128), 25_165_824, 8_388_608), B3),
    kernel(Work("aicpu", "NonZero", "float32", (1000, 1), 4000, 8000), B3),
]


def columns(made: Cost, chip=B3):
    return pipe_utilization(made.duration, made.block_dim, made.mix_block_dim, {n: getattr(made, n) for n in UNITS}, chip)


def test_published_example():
    # 5295467 cycles / (185.504 us * 1800 MHz * 20 cores) = 79.29 %; 16 blocks of 183.87 us
    units = NOTHING | {"aic_time": 5295467 / 1.8 / 16, "aic_mac": 151_000.0}
    made = pipe_utilization(185504, 16, 0, units, B3)
    assert made["aic_total_cycles"] == pytest.approx(5295467)
    assert made["cube_utilization(%)"] == pytest.approx(79.29, abs=0.01)
    assert made["aicore_time(us)"] == pytest.approx(183.87, abs=0.01)
    assert made["aic_mac_ratio"] == pytest.approx(151 / 183.87, abs=1e-4)


def test_columns_stand_in_file_order():
    assert PIPE_UTILIZATION[:4] == ("aicore_time(us)", "aic_total_cycles", "aic_mac_time(us)", "aic_mac_ratio")
    assert PIPE_UTILIZATION[12:16] == ("aic_icache_miss_rate", "aiv_time(us)", "aiv_total_cycles", "aiv_vec_time(us)")
    assert PIPE_UTILIZATION[-2:] == ("aiv_icache_miss_rate", "cube_utilization(%)")
    assert len(PIPE_UTILIZATION) == 25
    assert tuple(columns(KERNELS[0])) == PIPE_UTILIZATION


def test_a_core_that_took_no_part_has_no_figures():
    cube, vector, _, cpu = map(columns, KERNELS)
    assert [n for n in PIPE_UTILIZATION if cube[n] is None] == [n for n in PIPE_UTILIZATION if n.startswith("aiv_")]
    assert all(vector[n] is None for n in PIPE_UTILIZATION if n.startswith(("aic", "cube")))
    assert set(cpu.values()) == {None}


def test_mixed_kernels_count_vector_cycles_by_mix_blocks():
    made, mixed = KERNELS[2], columns(KERNELS[2])
    assert mixed["aic_total_cycles"] == pytest.approx(made.aic_time * 1.8 * 20)
    assert mixed["aiv_total_cycles"] == pytest.approx(made.aiv_time * 1.8 * 40)
    assert columns(KERNELS[1])["aiv_total_cycles"] == pytest.approx(KERNELS[1].aiv_time * 1.8 * 40)


def test_arrays_give_what_scalars_give():
    units = {n: np.array([getattr(k, n) for k in KERNELS]) for n in UNITS}
    made = pipe_utilization(
        np.array([k.duration for k in KERNELS], np.float64), np.array([k.block_dim for k in KERNELS], np.int32),
        np.array([k.mix_block_dim for k in KERNELS], np.int32), units, B3)
    assert tuple(made) == PIPE_UTILIZATION
    for row, single in enumerate(map(columns, KERNELS)):
        for name in PIPE_UTILIZATION:
            if single[name] is None:
                assert math.isnan(made[name][row])
            else:
                assert made[name][row] == pytest.approx(single[name])


def test_combined_cores_have_unprefixed_columns():
    made = kernel(Work("matmul", "MatMulV2", "float16", (1, 1024, 1024, 1024), 4_194_304, 2_097_152, 8 << 20), A910)
    found = columns(made, A910)
    assert tuple(found) == PIPE_UTILIZATION_COMBINED
    assert found["total_cycles"] == pytest.approx(made.aic_time * made.block_dim)  # at 1 GHz
    assert found["vec_time(us)"] == pytest.approx(made.aiv_vec / 1000)
    assert found["memory_bound"] == pytest.approx(made.aic_mte2 / max(made.aic_mac, made.aiv_vec))
    both = pipe_utilization(
        np.array([made.duration] * 2, np.float64), np.array([made.block_dim] * 2), np.array([0, 0]),
        {n: np.array([getattr(made, n)] * 2) for n in UNITS}, A910)
    assert both["memory_bound"] == pytest.approx([found["memory_bound"]] * 2)


def test_every_unit_of_the_kernel_table_is_a_unit_of_a_cost():
    from npu import events

    named = [c.name for c in events.TABLES["kernel"] if c.name.startswith(("aic_", "aiv_"))]
    assert named == UNITS
    assert set(named) < set(asdict(KERNELS[0]))


def test_costing_needs_no_numpy():
    code = (
        "import sys; from npu.cost import *; from npu.cost.counters import pipe_utilization; from npu import soc\n"
        "k = kernel(Work('vector', 'Add', 'float16', (9, 1), 36, 18), soc.find('910B3'))\n"
        "assert 'numpy' not in sys.modules, 'numpy was imported'"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
