"""Vector, row, fill, layout, attention, grouped and AI CPU kernels: worked by hand."""

from dataclasses import replace

import pytest

from npu import soc
from npu.cost import Cost, Work, kernel
from npu.cost.attention import attention, kv_heads
from npu.cost.fits import attention_fit, grouped_fit
from npu.cost.grouped import active_experts, grouped_matmul, padded_rows
from npu.cost.kernel import FORMS
from npu.cost.vector import INTEGER, Constants, closest, constants, table, vector

B2, B3, A910, P310 = (soc.find(n) for n in ("910B2", "910B3", "910A", "310P3"))


def add(elements: int, dtype: str, size: int, epilogue: int = 0, op: str = "Add") -> Work:
    return Work("vector", op, dtype, (elements, 1), 2 * elements * size, elements * size, epilogue)


SIMPLE = Constants(a=1.56, b=0, c=30.4, d=0, vec=0.22, mte2=0.92, mte3=0.2, task_type="", hbm=1.4, warm=2.5)


def us(cost: Cost) -> float:
    return cost.duration / 1000


def test_add_by_hand():
    # 512x2x4096 bf16 on 910B3: 1.56 + 30.4 cycles * 4194304 / 64 lanes / (40 cores * 1800 MHz) = 1.56 + 27.671 us
    made = vector(add(4194304, "bfloat16", 2), B3, SIMPLE)
    assert made.duration == 29231
    assert us(kernel(add(4194304, "bfloat16", 2), B3)) == pytest.approx(26.78, rel=0.10)  # measured
    assert (made.task_type, made.block_dim, made.mix_block_dim) == ("AI_VECTOR_CORE", 40, 0)
    assert made.flops == 4194304


def test_memory_bound_add_waits_for_its_input():
    made = kernel(add(4194304, "bfloat16", 2), B3)
    assert made.aiv_mte2 / made.aiv_time == pytest.approx(0.842, abs=0.06)  # measured 0.842
    assert made.aiv_vec / made.aiv_time == pytest.approx(0.247, abs=0.06)
    assert 0.84 <= kernel(add(1 << 26, "float16", 2), B3).aiv_mte2 / kernel(add(1 << 26, "float16", 2), B3).aiv_time <= 0.97


def test_scalar_add_is_mostly_waiting():
    made = kernel(add(1, "float32", 4), B3)
    assert made.block_dim == 1
    assert 1.0 <= us(made) <= 1.65  # measured 1.08-1.6
    assert made.aiv_scalar / made.aiv_time == pytest.approx(0.3, abs=0.02)  # measured 0.3


def test_rms_norm_by_hand():
    # 4096 rows of 1024 bf16 on 910B3. Bytes 16.8 MB, warm rate 2.5*20/24 = 2.0833 TB/s -> 8.054 us; * 1.14 = 9.181 us.
    # 14.8 cycles * 4194304/64/(40*1800) = 13.471 us. 103 rows a core * 0.079 = 8.137 us. a = 3.8. Sum 34.589 us.
    work = Work("row", "RmsNorm", "bfloat16", (4096 * 1024, 4096), 2 * 4096 * 1024 + 2048, 2 * 4096 * 1024)
    made = vector(work, B3, SIMPLE._replace(a=3.8, b=1.14, c=14.8, d=0.079))
    assert us(made) == pytest.approx(34.589, abs=0.01)
    assert us(kernel(work, B3)) == pytest.approx(33.06, rel=0.15)  # measured


def test_unknown_operators_take_the_generic_row_of_their_form():
    assert constants("vector", "NeverHeardOf", "float16") == constants("vector", "*", "")
    assert kernel(add(4096, "float16", 2, op="NeverHeardOf"), B3) == kernel(add(4096, "float16", 2, op="NorThisOne"), B3)
    assert constants("layout", "Transpose", "int8") != constants("layout", "Transpose", "float16")


def test_every_row_of_the_table_can_be_costed():
    for form, op, dtype in table():
        if form != "depthwise":
            dims = (5000, 10, 5)[: len(FORMS[form][0])]
            kind = "int32" if dtype == INTEGER else dtype or "float16"
            assert kernel(Work(form, op, kind, dims, 10000, 10000), B3).duration > 1000


def across(rows: int, steps: int, inner: int, op: str = "NeverHeardOf") -> Work:
    count = rows * steps * inner
    return Work("across", op, "float32", (count, rows, steps), 4 * count, 4 * rows * inner)


def test_an_axis_that_is_not_the_last_is_walked_step_by_step():
    """Maximum over the middle of 16 x 256 x 256: one wave of 16 cores, 256 steps; 910B2 takes 101.9 us. Another 16 rows cost next
    to nothing, another 256 steps as much again."""
    step = constants("across", "*", "").d
    short, wide, long = (us(kernel(across(*dims, 256), B2)) for dims in ((16, 256), (32, 256), (16, 512)))
    assert short == pytest.approx(101.9, rel=0.15)
    assert long - wide == pytest.approx(256 * step, rel=0.02)
    assert wide - short < 0.1 * short


def test_across_takes_what_the_operator_shows_along_rows():
    """ReduceSum starts as ReduceSumD does, and steps as others do: 32 x 4096 over the first axis took 19.9 us in a real step."""
    along, over = constants("row", "ReduceSum", "float32"), constants("across", "ReduceSum", "float32")
    assert over == along._replace(d=constants("across", "*", "").d)
    assert us(kernel(across(1, 32, 4096, "ReduceSum"), B2)) == pytest.approx(19.9, rel=0.3)


def test_short_rows_share_an_instruction():
    """A million rows of two values are no million instructions: 187 us measured on 910B2, 3.4 ms one by one."""
    work = Work("row", "SoftmaxV2", "float16", (2_000_006, 1_000_003), 4_000_012, 4_000_012)
    assert us(kernel(work, B2)) == pytest.approx(187.3, rel=0.25)


def test_integers_share_constants_where_an_operator_has_no_instructions_for_them():
    rows = {(f, o, t): SIMPLE._replace(a=a) for (f, o, t), a in {
        ("row", "*", ""): 1.0, ("row", "Odd", ""): 2.0, ("row", "Odd", INTEGER): 3.0, ("row", "Odd", "int8"): 4.0,
    }.items()}  # fmt: skip
    taken = {t: closest(rows, "row", "Odd", t).a for t in ("float16", "int32", "int64", "int8", "bool")}
    assert taken == {"float16": 2.0, "int32": 3.0, "int64": 3.0, "int8": 4.0, "bool": 2.0}


def test_byte_transpose_falls_back():
    # 4097 x 511 int8: 238.5 us measured on 910B2, ten times the two-byte one
    made = kernel(Work("layout", "Transpose", "int8", (4097 * 511, 1), 4097 * 511, 4097 * 511), B2)
    assert us(made) == pytest.approx(238.484, rel=0.12)


def test_fused_elements_overlap_with_the_main_part():
    # 3 operations: 3 * 1048576 * 4.4 cycles / 128 lanes / (40*1800) = 1.502 us beside 30.4 * 1048576/128/72000 = 3.459 us
    plain, fused = (us(vector(add(1048576, "float16", 2, e), B3, SIMPLE)) for e in (0, 3 * 1048576))
    assert plain == pytest.approx(1.56 + 3.459, abs=0.002)
    assert fused == pytest.approx(1.56 + (3.459**3.75 + 1.502**3.75) ** (1 / 3.75), abs=0.003)


def test_slow_memory_bounds_what_the_cores_could_do():
    # 402 MB of which 16 MiB fit L2, over 204.8 GB/s: 1884 us. The fitted cycles alone would give less.
    made = vector(add(1 << 26, "float16", 2), P310, SIMPLE)
    assert us(made) == pytest.approx(1.56 + (402_653_184 - (16 << 20)) / 204.8e3, rel=0.001)
    assert made.task_type == "AI_CORE"


def test_reductions_are_mixed_kernels_where_profiles_say_so():
    work = Work("row", "ReduceSum", "float32", (160, 1), 640, 4)
    assert kernel(work, B3).task_type == "MIX_AIV"
    assert kernel(work, A910).task_type == "AI_CORE"


def test_combined_cores_count_vector_work_as_core_time():
    made = kernel(add(1 << 20, "float16", 2), A910)
    assert made.aic_time > 0
    assert made.aiv_time == made.aiv_mte2 == 0
    assert made.aiv_vec > 0
    assert made.aic_mte2 > 0


def test_depthwise_grows_with_its_taps():
    def depthwise(k: int) -> Cost:
        return kernel(Work("depthwise", "DepthwiseConv2D", "float16", (1, 56, 56, 144, 1, k, k, 144), 903_168, 903_168), B3)

    assert depthwise(3).task_type == "AI_VECTOR_CORE"
    assert depthwise(3).duration < depthwise(5).duration < depthwise(7).duration
    assert depthwise(3).flops == 56 * 56 * 144 * (1 + 9)


def test_trans_data_of_an_image_is_a_plain_move():
    # 10 us + 1103872 B / 3 TB/s = 10.368 us; 672 planes of 448 bytes: 10 + 0.368 * (1 + 336 / 448) = 10.644 us
    image = Work("layout", "TransData", "float16", (150528, 1), 301_056, 802_816)
    assert us(kernel(image, B2)) == pytest.approx(10.368, abs=0.002)
    assert us(kernel(replace(image, dims=(150528, 672)), B2)) == pytest.approx(10.644, abs=0.002)


def test_filters_move_far_slower_than_images():
    # 256 x 384 planes of 9 fp32 taps, 36 bytes each: 10 + 7.078 MB / 3 TB/s * (1 + 336 / 36) = 34.38 us; 53 and 41 us measured
    taps = Work("layout", "TransData", "float32", (256 * 384 * 9, 256 * 384), 3_538_944, 3_538_944)
    assert us(kernel(taps, B2)) == pytest.approx(34.38, abs=0.01)
    # one tap of 4 bytes counts as the 32 bytes that a transfer moves at least: 10 + 0.262 * (1 + 336 / 32) = 13.02 us
    one = Work("layout", "TransData", "float32", (98304, 98304), 393_216, 393_216)
    assert us(kernel(one, B2)) == pytest.approx(13.02, abs=0.01)


def test_a_start_on_more_cores_takes_longer():
    # 1.28 us on one core. 4096 elements in and out are 4 blocks of 8 KiB: 3 * 0.116 us more; 49152 bytes in 6 blocks take
    # 1.09 * 49152 / 0.6e6 = 0.089 us
    chosen = SIMPLE._replace(a=1.28, s=0.116, b=1.09, c=0)
    assert us(vector(add(1, "float32", 4), B2, chosen)) == pytest.approx(1.280, abs=0.001)
    made = us(vector(add(4096, "float32", 4), B2, chosen))
    assert made == pytest.approx(1.28 + 3 * 0.116 + 1.09 * 49152 / 0.6e6, abs=0.001)


def test_attention_forward_of_a_training_step():
    # 4096x2x512 as 4 heads of 128: 256 tasks, 13 waves of 32 blocks of keys, masked or not. 410 us on 910B3.
    size = 4096 * 2 * 512 * 2
    made = kernel(Work("attention", "FlashAttentionScore", "bfloat16", (2, 4, 4096, 4096, 128), 3 * size, size), B3)
    assert us(made) == pytest.approx(410, rel=0.15)
    assert (made.task_type, made.block_dim, made.mix_block_dim) == ("MIX_AIC", 20, 40)
    assert made.aiv_vec / made.aiv_time == pytest.approx(0.63, abs=0.1)
    assert made.flops == 4 * 2 * 4 * 4096 * 4096 * 128


def test_decode_reads_each_key_value_head_once():
    batch, heads, kv, skv, d = 16, 32, 8, 2048, 128
    queries, keys = batch * heads * d * 2, 2 * batch * kv * skv * d * 2
    work = Work("attention", "FusedInferAttentionScore", "float16", (batch, heads, 1, skv, d), queries + keys, queries)
    assert kv_heads(work) == kv
    fit = attention_fit("attention", "910B")._replace(
        launch=15.0, batch=0.25, wave=2.0, hbm=1.2, core=0.05, warm_mb=100.0, cold_mb=120.0, grouped=1.0
    )
    # 15 + 16 * 0.25 + 6 waves * 2 + 134.2 MB at 1.2 TB/s, as they stream from memory
    assert us(attention(work, B2, fit)) == pytest.approx(15 + 4 + 12 + 134.217728 / 1.2, abs=0.001)
    # in L2: 24 cores * 0.05 TB/s; few keys: one core a task of up to 512 keys
    assert us(attention(work, B2, fit._replace(hbm=9.0, warm_mb=1e6, cold_mb=2e6))) == pytest.approx(
        31 + 134.217728 / 1.2, abs=0.001
    )
    one = Work("attention", "FusedInferAttentionScore", "float16", (1, 8, 1, 512, d), 8 * d * 2 + 2 * 512 * d * 2, 8 * d * 2)
    assert us(attention(one, B2, fit)) == pytest.approx(15 + 0.25 + 2 + 0.262144 / 0.05, abs=0.001)
    assert us(kernel(work, B2)) == pytest.approx(146.06, rel=0.25)  # measured


def test_prefill_by_hand():
    # 2 x 8 heads x ceil(200/128) = 32 tasks, 2 waves on 24 cores; ceil(300/128) = 3 blocks
    fit = attention_fit("attention", "910B")._replace(launch=15.0, task=4.0, task_width=1.0, block=0.1, block_width=0.4)
    work = Work("attention", "FusedInferAttentionScore", "float16", (2, 8, 200, 300, 64), 1_000_000, 500_000)
    assert us(attention(work, B2, fit)) == pytest.approx(15 + 2 * (4 + 0.5 + 3 * (0.1 + 0.2)), abs=0.001)


def test_experts_that_get_no_rows_are_not_read():
    assert active_experts(8, 1) == pytest.approx(1)
    assert active_experts(8, 1000) == pytest.approx(8)
    assert [padded_rows(r) for r in (1, 16, 17, 64, 65, 129)] == [16, 16, 32, 64, 128, 256]
    weights = 2 * 64 * 2048 * 2048
    fit = grouped_fit("910B")._replace(launch=7.0, rate=1.45, eta=0.46, p=1.6)
    few, many = (
        grouped_matmul(
            Work("grouped_matmul", "GroupedMatmul", "bfloat16", (64, m, 2048, 2048), weights + m * 4096, m * 4096), B2, fit
        )
        for m in (2, 2000)
    )
    # two experts of 8.4 MB at 1.45 TB/s against all 64
    assert us(few) == pytest.approx(7 + 2 * 8.389e6 / 1.45e6, rel=0.05)
    assert us(many) > 300


def test_quantised_grouped_matmul_needs_the_vector_cores():
    def grouped(dtype: str) -> Cost:
        return kernel(Work("grouped_matmul", "GroupedMatmul", dtype, (8, 512, 1024, 1024), 9_000_000, 1_048_576), B2)

    assert grouped("bfloat16").task_type == "AI_CORE"
    assert grouped("int8").task_type == "MIX_AIC"
    assert grouped("int8").mix_block_dim == 48


def test_ai_cpu_is_slow_and_has_no_core_counters():
    made = kernel(Work("aicpu", "InplaceIndexAdd", "int8", (2_048_000, 1), 4_096_000, 2_048_000), B3)
    assert us(made) == pytest.approx(12652.2, rel=0.1)  # measured on 910B4-1
    assert (made.task_type, made.block_dim) == ("AI_CPU", 0)
    assert made.aic_time == made.aiv_time == 0
    assert kernel(Work("aicpu", "Cast", "string", (3, 1), 24, 24), B3).duration == pytest.approx(100_000, rel=0.01)


def test_a_row_that_no_cores_share_waits_for_the_longest():
    # 49 rows on 48 cores: two rounds, so 24.5 cores' worth; 1 cycle * 49 * 65536 / 128 lanes / (24.5 * 1800) = 0.569 us
    chosen = SIMPLE._replace(a=10.0, c=1.0, whole=True)
    work = Work("row", "GroupNormSilu", "float16", (49 * 65536, 49), 0, 0)
    assert us(vector(work, B2, chosen)) == pytest.approx(10 + 49 * 65536 / 128 / (24.5 * 1800), abs=0.001)
    assert us(vector(work, B2, chosen._replace(whole=False))) == pytest.approx(10 + 49 * 65536 / 128 / (48 * 1800), abs=0.001)
