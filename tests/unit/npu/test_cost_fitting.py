"""How constants of the cost model are found: regression, shrinking, and what a measured row is taken for."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

BENCH = Path(__file__).resolve().parents[3] / "bench"


@pytest.fixture(scope="module")
def bench():
    """Modules of bench by name."""

    def load(name: str) -> ModuleType:
        return importlib.import_module(name)

    sys.path.insert(0, str(BENCH))
    yield load
    sys.path.remove(str(BENCH))


def row(op: str, shapes: str, types: str, us: float = 1.0, **more: str) -> dict[str, str]:
    made = dict.fromkeys(("output_shapes", "attrs", "method", "source", "kernels"), "")
    return made | {"op_type": op, "input_shapes": shapes, "input_dtypes": types, "soc": "Ascend910B2"} | {
        "task_type": "AI_VECTOR_CORE", "duration_us": str(us), **more,
    }  # fmt: skip


def test_one_wild_row_does_not_move_the_line(bench):
    """2 + 3 x for x = 0..9, one value a hundred times too large: least squares alone would be far off."""
    values = [2.0 + 3 * x for x in range(10)]
    values[5] *= 100
    found = bench("robust").non_negative([[1.0, float(x)] for x in range(10)], values)
    assert found == pytest.approx([2, 3], rel=0.02)


def test_no_coefficient_is_below_zero(bench):
    """5 - x falls: the best line without a negative slope is flat."""
    assert bench("robust").non_negative([[1.0, float(x)] for x in range(4)], [5.0, 4.0, 3.0, 2.0])[1] == 0


@given(st.lists(st.tuples(st.floats(0.1, 50), st.floats(0.1, 50)), min_size=4, max_size=12, unique=True), st.integers(1, 9))
def test_exact_rows_give_exact_coefficients(rows, factor):
    sys.path.insert(0, str(BENCH))
    try:
        robust = importlib.import_module("robust")
    finally:
        sys.path.remove(str(BENCH))
    values = [a * factor + b * 2 for a, b in rows]
    found = robust.non_negative([list(r) for r in rows], values)
    made = [a * found[0] + b * found[1] for a, b in rows]
    assert made == pytest.approx(values, rel=1e-3)


def test_a_single_row_moves_an_operator_half_of_the_way(bench):
    """Four times as long as the generic constants say: one row of that makes twice as long (the factor 4 to the power of 1/2)."""
    fitting, operators, command = bench("fitting"), bench("operator_fits"), bench("fit_costs")
    tables = command.start()
    (point,) = fitting.points([row("NeverHeardOf", "4096,1024", "FLOAT")])
    generic = fitting.modelled(point, tables)
    made = operators.shrunken(("vector", "NeverHeardOf", ""), [point._replace(us=4 * generic)], tables)
    assert fitting.modelled(point, made) == pytest.approx(2 * generic, rel=0.01)


def test_what_is_held_by_hand_is_not_fitted(bench):
    """Ten rows of Square a hundred times too slow change nothing: its constants say that they are from elsewhere."""
    fitting, operators, command = bench("fitting"), bench("operator_fits"), bench("fit_costs")
    assert ("vector", "Square", "") in fitting.held()
    assert ("vector", "Mul", "") not in fitting.held()
    tables = command.start()
    rows = fitting.points([row("Square", f"{4096 * n},1024", "FLOAT", 5000.0 * n) for n in range(1, 11)])
    assert operators.fit_vector(rows, tables, {"Square"}).vector["vector", "Square", ""] == tables.vector["vector", "Square", ""]


def test_int8_products_name_no_output(bench):
    """The right operand is (k, n) or (n, k); 1024 x 4096 times 4096 x 11008."""
    measured = bench("measured")
    for right in ("4096,11008", "11008,4096"):
        made = measured.case(row("QuantBatchMatmulV3", f"1024,4096;{right};11008", "INT8;INT8;FLOAT"))
        assert (made.family, made.works[0].dims) == ("matmul_int8", (1, 1024, 11008, 4096))


def test_kernels_that_convert_take_one_operand_each(bench):
    """Two transpositions of a chain: of 8 x 16 and of 4 x 4 values; the operator behind them walks over both."""
    made = bench("measured").case(
        row("CANNBench_pair", "8,16;4,4", "FLOAT;FLOAT", kernels="Transposex2 + Pairx1", output_shapes="8,16")
    )
    first, second, last = made.works
    assert (first.dims[0], second.dims[0]) == (128, 16)
    assert last.read_bytes == 4 * (128 + 16)


def test_a_chain_adds_two_tensors_at_a_time(bench):
    """Four tensors of 8 x 16 added by three kernels: each reads two; what scales the sum takes the first."""
    kernels = "Addx3 + RmsNormx1"
    made = bench("measured").case(row("CANNBench_sum", "8,16;8,16;8,16;8,16", "FLOAT", kernels=kernels, output_shapes="8,16"))
    assert [w.read_bytes for w in made.works] == [2 * 512] * 3 + [512]


def test_small_tables_are_spread_and_large_tensors_transposed(bench):
    """Rotary embedding of 2 x 4 x 8 x 16: the tables of 8 x 8 are joined and spread, queries and keys change places."""
    made = bench("measured").case(
        row(
            "CANNBench_apply_rotary_pos_emb", "2,4,8,16;2,4,8,16;8,8;8,8", "FLOAT", attrs='{"op": "apply_rotary_pos_emb"}',
            kernels="ConcatDx2 + BroadcastTox2 + Transposex4 + ApplyRotaryPosEmbx1",
        )
    )  # fmt: skip
    assert [w.dims[0] for w in made.works] == [64] * 4 + [1024] * 5
    assert [w.dims[1] for w in made.works[4:8]] == [1024 // 16] * 4  # 16 values stay together


def test_images_are_filled_up_to_blocks_of_channels(bench):
    """One channel of 16 x 16 values becomes eight of fp32; resized to 8 x 8, each value is made of four."""
    attrs = '{"op": "resize_bilinear", "output_size": [8, 8]}'
    made = bench("measured").case(
        row("CANNBench_resize_bilinear", "1,1,16,16", "FLOAT", attrs=attrs, kernels="TransDatax2 + ResizeBilinearV2x1")
    )
    assert [w.dims[0] for w in made.works] == [8 * 256, 8 * 64, 4 * 8 * 64]


def test_what_goes_along_another_axis_is_counted_in_steps(bench):
    case = bench("measured").case
    first = case(row("CANNBench_arg_max", "1009,1021", "FLOAT", attrs='{"dim": 0, "op": "arg_max"}', kernels="ArgMaxV2x1 + Castx1"))
    assert [(w.form, w.op, w.dims) for w in first.works] == [
        ("across", "ArgMaxV2", (1009 * 1021, 1, 1009)), ("vector", "Cast", (1021, 1)),  # the places found
    ]  # fmt: skip
    last = case(row("CANNBench_arg_max", "1009,1021", "FLOAT", attrs='{"dim": -1, "op": "arg_max"}', kernels="ArgMaxV2x1"))
    assert (last.works[0].form, last.works[0].dims) == ("row", (1009 * 1021, 1009))


def test_what_adds_up_by_an_index_is_counted_in_stretches(bench):
    """Rows of 64 values to be added at 1000 places; along the last axis every value is a stretch of its own."""
    case = bench("measured").case
    first = case(row("InplaceIndexAdd", "128,64;1000;1000,64", "FLOAT;INT64;FLOAT", attrs='{"dim": 0}'))
    last = case(row("InplaceIndexAdd", "4,100;50;4,50", "FLOAT;INT64;FLOAT", attrs='{"dim": 1}'))
    assert (first.works[0].dims[1], last.works[0].dims[1]) == (1000, 200)


def test_filling_reads_nothing(bench):
    (work,) = bench("measured").case(row("ZerosLike", "4096,64", "FLOAT")).works
    assert (work.read_bytes, work.write_bytes) == (0, 4096 * 64 * 4)


def test_operators_never_seen_apart_share_what_their_chains_take(bench):
    """Six chains of 40 us and one of two unknown operators: neither is told from the other, so both take half."""
    fitting, operators, command = bench("fitting"), bench("operator_fits"), bench("fit_costs")
    rows = [
        row("CANNBench_pair", f"{512 * n},64", "FLOAT", 40.0, kernels="FirstReducex1 + SecondReducex1", source="here")
        for n in range(1, 7)
    ]
    found = operators.fit_chains(fitting.points(rows), command.start())
    first, second = (found.vector["row", op, ""] for op in ("FirstReduce", "SecondReduce"))
    assert first == second
    assert fitting.off(fitting.points(rows), found) < 0.02


def test_small_parts_of_chains_are_not_fitted(bench):
    """A fill beside a kernel of 500 us: what the chain takes says nothing of the fill."""
    fitting, operators, command = bench("fitting"), bench("operator_fits"), bench("fit_costs")
    tables = command.start()
    big = fitting.points([row("Mul", "4096,8192;4096,8192", "FLOAT")])[0]
    us = fitting.modelled(big, tables)
    rows = [row("CANNBench_x", "4096,8192;4096,8192", "FLOAT", us * k, kernels="Mulx1 + NewFillx1") for k in (0.99, 1.0, 1.01, 1.02)]
    found = operators.fit_chains(fitting.points([*rows, *[row("Mul", "4096,8192;4096,8192", "FLOAT", us)] * 4]), tables)
    assert ("fill", "NewFill", "") not in found.vector


def test_integers_get_constants_of_their_own_where_they_are_far_off(bench):
    """Eight rows at 10 us, six of integers a hundred times as long: one set of constants would fit neither."""
    fitting, operators, command = bench("fitting"), bench("operator_fits"), bench("fit_costs")
    rows = [row("Odd", f"{4096 * n},64", "FLOAT", 5.0 + n) for n in range(1, 9)]
    rows += [row("Odd", f"{4096 * n},64", "INT32", 100.0 * (5 + n)) for n in range(1, 7)]
    measured = fitting.points(rows)
    found = operators.fit_vector(measured, command.start())
    assert ("vector", "Odd", "integer") in found.vector
    assert fitting.off(measured, found) < 0.1
