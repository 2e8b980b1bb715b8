"""Cube kernels: worked by hand, and against published measurements."""

from dataclasses import replace

import pytest

from npu import soc
from npu.cost import Cost, Work, kernel
from npu.cost.fits import MatmulFit
from npu.cost.matmul import matmul
from npu.cost.tiling import Gemm, tiling

B1, B2, B3, A910 = (soc.find(n) for n in ("910B1", "910B2", "910B3", "910A"))


def product(m: int, n: int, k: int, dtype: str = "float16", size: int = 2, epilogue: int = 0, op: str = "MatMulV2") -> Work:
    return Work("matmul", op, dtype, (1, m, n, k), size * (m * k + n * k), size * m * n, epilogue)


def gemm(m: int, n: int, k: int) -> Gemm:
    a, b, c = 2 * m * k, 2 * n * k, 2 * m * n
    return Gemm(1, m, n, k, 16, a, b, c, a + b + c, 1.0)


def us(cost: Cost) -> float:
    return cost.duration / 1000


# The fit of an earlier form of the model: round figures to compute with
FIT = MatmulFit(
    launch=1.7,
    eta=0.89,
    hbm=1.27,
    warm=1.48,
    l2=6.5,
    core=0.27,
    p=3.75,
    warm_mb=96,
    cold_mb=192,
    passes=1,
    split=0,
    stride=1,
    unaligned=1,
    slow=1,
)


def test_smallest_product_by_hand():
    # Tile 16x64: 4 blocks on 4 cores of 1.8 GHz. Compute 16*64*64/(4096*1800*0.89) = 0.00999 us, memory 24576 B at
    # 4*0.27 TB/s = 0.02276 us, L2 8192*(1+4+1) = 49152 B at twice that rate = 0.02276 us; p-norm 0.02755; + launch 1.7.
    made = matmul(product(64, 64, 64), B2, FIT)
    assert made.duration == 1728
    assert made.block_dim == 4
    assert us(kernel(product(64, 64, 64), B2)) == pytest.approx(1.91, rel=0.1)  # measured on 910B2


def test_weights_beyond_l2_are_streamed_for_each_row_block_at_most_passes_times():
    # 16384 x 8192 weights are 268.4 MB, beyond L2; row blocks are 128 high, and results go to L2 at its rate
    fit = FIT._replace(eta=100, l2=1e6, core=1e6, passes=2, p=50)
    for rows, passes in ((128, 1), (256, 2), (2048, 2)):
        read, written = 2 * (rows * 8192 + passes * 16384 * 8192), 2 * rows * 16384
        made = tiling(gemm(rows, 16384, 8192), B2, fit).main
        assert made == pytest.approx(read / 1.27e6 + written / 1.48e6, rel=0.01)


def test_what_is_in_l2_and_what_is_beyond_come_one_after_the_other():
    # 16 x 8192 x 8192: 134.5 MB read, 0.401 of the way from 96 to 192: 0.599 of it at 1.48 TB/s, 0.401 at 1.27
    fit = FIT._replace(eta=100, l2=1e6, core=1e6, p=50)
    read, written = 2 * (16 * 8192 + 8192 * 8192), 2 * 16 * 8192
    far = (read / 1e6 - 96) / 96
    assert far == pytest.approx(0.401, abs=0.001)
    made = tiling(gemm(16, 8192, 8192), B2, fit).main
    assert made == pytest.approx(read * ((1 - far) / 1.48e6 + far / 1.27e6) + written / 1.48e6, rel=0.001)


def test_rows_that_lie_badly_are_read_slower_by_cores():
    fit = FIT._replace(eta=100, l2=1e6, core=0.001, p=50, stride=0.5, unaligned=0.8)
    plain = tiling(gemm(128, 8192, 8192), B2, fit).main
    assert tiling(gemm(128, 8192, 8192)._replace(row=8191 * 2), B2, fit).main == pytest.approx(plain / 0.8, rel=0.001)
    assert tiling(gemm(128, 8192, 8192)._replace(row=32768), B2, fit).main == pytest.approx(plain / 0.5, rel=0.001)
    assert tiling(gemm(128, 8192, 8192), B2, fit._replace(slow=1.5)).main == pytest.approx(plain * 1.5)
    memory = fit._replace(core=1e6)  # where memory is what they wait for, rows may lie as they like
    assert tiling(gemm(128, 8192, 8192)._replace(row=32768), B2, memory).main == tiling(gemm(128, 8192, 8192), B2, memory).main


@pytest.mark.parametrize(
    ("shape", "dtype", "chip", "measured", "within"),
    [
        ((8192, 8192, 8192), "float16", B1, 4081.64, 0.05),  # asc-devkit sample, L2 split
        ((4096, 4608, 12288), "float16", B1, 1478.18, 0.15),  # training profile
        ((4096, 4096, 4096), "float16", B2, 525.95, 0.12),
        ((4096, 512, 8192), "bfloat16", B3, 185.504, 0.15),  # the Task Duration of the counter example
        ((2180, 4864, 896), "float16", soc.find("910_9382"), 75.74, 0.12),
    ],
)
def test_measured_products(shape, dtype, chip, measured, within):
    assert us(kernel(product(*shape, dtype), chip)) == pytest.approx(measured, rel=within)


def test_mac_time_is_padded_volume_over_rate():
    made = kernel(product(4096, 4096, 1024, "bfloat16"), B3)
    assert made.block_dim == 20
    # 4096*4096*1024 / (4096 MACs * 20 cores * 1800 MHz) = 116.508 us, * 1.02
    assert made.aic_mac / 1000 == pytest.approx(118.838, abs=0.001)
    assert made.flops == 2 * 4096 * 4096 * 1024


def test_odd_sizes_are_padded():
    made, whole = kernel(product(33, 47, 50), B3), kernel(product(48, 48, 64), B3)
    assert made.block_dim == whole.block_dim
    assert made.aic_mac == whole.aic_mac


def test_large_products_keep_the_cube_busy_as_profiles_show():
    made = kernel(product(8192, 8192, 8192), B1)
    assert 0.80 <= made.aic_mac / made.aic_time <= 0.92
    assert 0.6 <= made.aic_mte1 / made.aic_time <= 0.75
    assert 0.94 <= made.aic_mte2 / made.aic_time <= 0.98
    assert 0.03 <= made.aic_fixpipe / made.aic_time <= 0.08
    assert 0.09 <= made.aic_scalar / made.aic_time <= 0.48
    assert made.task_type == "AI_CORE"
    assert made.aiv_time == 0


def test_data_type_sets_the_cube_rate():
    half = kernel(product(2048, 2048, 2048), B3)
    byte = kernel(product(2048, 2048, 2048, "int8", 1), B3)
    full = kernel(product(2048, 2048, 2048, "float32", 4), B3)
    assert byte.aic_mac == pytest.approx(half.aic_mac / 2)
    assert full.aic_mac == pytest.approx(half.aic_mac * 4)
    assert kernel(product(2048, 2048, 2048, "bfloat16"), B3).duration == half.duration
    assert byte.duration < half.duration < full.duration


def test_long_k_is_split_over_idle_cores():
    best = tiling(gemm(16, 128, 16384), B3, FIT)
    assert best.split > 1
    assert best.cores <= 20
    assert tiling(gemm(32, 128, 16384), B3, FIT).split == 1  # partial results of more rows are not worth it


def test_relu_and_bias_leave_by_the_output_stage():
    plain = kernel(product(1024, 1024, 1024), B3)
    relu = kernel(product(1024, 1024, 1024, epilogue=2 * 1024 * 1024), B3)
    assert replace(relu, flops=plain.flops) == plain
    assert relu.flops == plain.flops + 2 * 1024 * 1024


def test_gelu_takes_the_vector_cores_behind_the_cube():
    outputs = 8192 * 8192
    plain, fused = (kernel(product(8192, 8192, 8192, epilogue=e), B1) for e in (0, 4 * outputs))
    assert fused.task_type == "MIX_AIC"
    assert fused.mix_block_dim == 2 * fused.block_dim
    # 4 operations * 4.4 cycles / 64 lanes / (48 cores * 1850 MHz) = 207.8 us of vector work; measured 0.046 * 4237 = 195 us
    assert fused.aiv_vec / 1000 == pytest.approx(207.8, rel=0.001)
    assert plain.duration < fused.duration < plain.duration + 207_800
    assert kernel(product(1024, 1024, 1024, epilogue=1024 * 1024, op="MatMulV2Gelu"), B1).task_type == "MIX_AIC"


def test_combined_cores_have_no_mixed_kernels():
    made = kernel(product(1024, 1024, 1024, epilogue=8 * 1024 * 1024), A910)
    assert made.task_type == "AI_CORE"
    assert made.mix_block_dim == 0
    assert made.aiv_time == 0
    assert made.aiv_vec > 0


def test_convolution_is_an_implicit_product_reading_its_input_once():
    # 3x3, 256 -> 256 channels at 14x14: m 196, n 256, k 2304; padded 208*256*2304 MACs
    plane = 14 * 14 * 256 * 2
    work = Work("conv", "Conv2D", "float16", (1, 14, 14, 256, 256, 3, 3, 1), plane + 9 * 256 * 256 * 2, plane)
    made = kernel(work, B3)
    assert made.aic_mac / 1000 == pytest.approx(208 * 256 * 2304 / (4096 * made.block_dim * 1800) * 1.02)
    assert made.flops == 2 * 196 * 256 * 2304
    as_product = kernel(Work("matmul", "MatMulV2", "float16", (1, 196, 256, 2304), (196 + 256) * 2304 * 2, 196 * 256 * 2), B3)
    assert made.task_type == "AI_CORE"
    assert made.hbm_share * made.duration < as_product.hbm_share * as_product.duration


def test_few_channels_are_padded_to_the_cube():
    three, sixteen = (
        kernel(Work("conv", "Conv2D", "float16", (1, 112, 112, 64, ci, 7, 7, 1), 1_700_000, 1_605_632), B3) for ci in (3, 16)
    )
    assert three.aic_mac == sixteen.aic_mac
    assert sixteen.flops > three.flops


def test_grouped_convolution_multiplies_less_than_a_full_one():
    full = kernel(Work("conv", "Conv2D", "float16", (1, 28, 28, 256, 256, 3, 3, 1), 1_581_056, 401_408), B3)
    grouped = kernel(Work("conv", "Conv2D", "float16", (1, 28, 28, 256, 32, 3, 3, 8), 548_864, 401_408), B3)
    assert grouped.flops == full.flops / 8
    assert grouped.duration < full.duration


@pytest.mark.parametrize(
    ("work", "named"),
    [
        (Work("gemm", "MatMulV2", "float16", (1, 1, 1, 1), 2, 2), "form 'gemm'"),
        (Work("matmul", "MatMulV2", "float16", (16, 16, 16), 2, 2), "batch, m, n, k"),
        (Work("matmul", "MatMulV2", "float16", (1, 0, 16, 16), 2, 2), "at least 1"),
        (Work("matmul", "MatMulV2", "int64", (1, 16, 16, 16), 2, 2), "'int64'"),
        (Work("vector", "Add", "string", (16, 1), 2, 2), "'string'"),
        (Work("vector", "Add", "float16", (16, 1), -1, 2), "negative"),
    ],
)
def test_impossible_work_is_refused_by_name(work, named):
    with pytest.raises(ValueError, match=named):
        kernel(work, B3)
