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
    fitting, command = bench("fitting"), bench("fit_costs")
    tables = command.start()
    (point,) = fitting.points([row("NeverHeardOf", "4096,1024", "FLOAT")])
    generic = fitting.modelled(point, tables)
    made = fitting.shrunken(("vector", "NeverHeardOf", ""), [point._replace(us=4 * generic)], tables)
    assert fitting.modelled(point, made) == pytest.approx(2 * generic, rel=0.01)


def test_what_is_held_by_hand_is_not_fitted(bench):
    """Ten rows of Square a hundred times too slow change nothing: its constants say that they are from elsewhere."""
    fitting, command = bench("fitting"), bench("fit_costs")
    assert ("vector", "Square", "") in fitting.held()
    assert ("vector", "Mul", "") not in fitting.held()
    tables = command.start()
    rows = fitting.points([row("Square", f"{4096 * n},1024", "FLOAT", 5000.0 * n) for n in range(1, 11)])
    assert fitting.fit_vector(rows, tables, {"Square"}).vector["vector", "Square", ""] == tables.vector["vector", "Square", ""]


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
