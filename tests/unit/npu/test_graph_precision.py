"""--precision_mode in arithmetic and in the task list: what is rounded, and where casts stand. Figures by hand."""

import json
import math

import numpy as np
import pytest

from npu.graph.errors import AtcError
from npu.graph.precision import rounded
from npu.ops.compute import Session
from tests.made_onnx import convert, model, node

SUM = {"x": [1, 2]}
ONES = {"w": np.ones((2, 1), np.float32)}


def product():
    return model([node("MatMul", "x w", "y")], "y", ONES, SUM)


def growing():
    """A product and an exponential: one operator the mixed modes work on in half precision, one they do not."""
    return model([node("MatMul", "x w", "p"), node("Exp", "p", "y")], "y", ONES, SUM)


def answer(made, folder, x, **flags):
    summary = convert(made, folder, **flags)
    (found,) = Session(summary.path).run({"x": np.array([x], np.float32)})
    return float(found.reshape(-1)[0]), [(k.name, k.op_type, k.in_dtypes, k.out_dtypes) for k in summary.model.kernels]


# 2049 lies between two numbers of half precision; 1.0004 rounds to 1 there (the next is 1 + 2^-10 = 1.00098), so the input is rounded
@pytest.mark.parametrize("mode, sum_, first", [
    ("force_fp16", 2048.0, 1.0), ("cube_fp16in_fp32out", 2049.0, 1.0), ("force_fp32", 2049.0, 1.0),
    ("must_keep_origin_dtype", 2049.0, 1.0004), ("allow_fp32_to_fp16", 2049.0, 1.0004), ("allow_fp32_to_bf16", 2049.0, 1.0004),
    ("allow_mix_precision", 2048.0, 1.0), ("allow_mix_precision_bf16", 2048.0, 1.0)])
def test_a_product_in_every_mode(tmp_path, mode, sum_, first):
    assert answer(product(), tmp_path, [2048, 1], precision_mode=mode)[0] == sum_
    assert answer(product(), tmp_path, [1.0004, 0], precision_mode=mode)[0] == pytest.approx(first, abs=1e-7)


def test_bfloat16_has_eight_bits(tmp_path):
    """257 needs nine bits: bfloat16 rounds it to 256 (a tie, to the even one), half precision holds it."""
    assert answer(product(), tmp_path, [257, 0], precision_mode_v2="mixed_bfloat16")[0] == 256.0
    assert answer(product(), tmp_path, [257, 0], precision_mode_v2="mixed_float16")[0] == 257.0


def test_products_write_full_precision_where_the_mode_says_so(tmp_path):
    _, kernels = answer(product(), tmp_path, [1, 1], precision_mode_v2="cube_fp16in_fp32out")
    assert kernels == [("trans_Cast_0", "Cast", "FLOAT", "FLOAT16"), ("MatMul_y", "MatMulV2", "FLOAT16;FLOAT16", "FLOAT")]


def test_a_chip_without_full_precision_products_reads_half(tmp_path):
    _, kernels = answer(product(), tmp_path, [1, 1], precision_mode="allow_fp32_to_fp16", soc_version="Ascend310P3")
    assert [k[2:] for k in kernels] == [("FLOAT", "FLOAT16"), ("FLOAT16;FLOAT16", "FLOAT16"), ("FLOAT16", "FLOAT")]


def test_black_listed_operators_keep_full_precision(tmp_path):
    """e^12 = 162755 is beyond half precision: the first mode overflows, the mixed one does not."""
    assert answer(growing(), tmp_path, [6, 6], precision_mode="force_fp16")[0] == math.inf
    value, kernels = answer(growing(), tmp_path, [6, 6], precision_mode="allow_mix_precision")
    assert value == pytest.approx(math.exp(12), rel=1e-6)
    assert kernels == [
        ("trans_Cast_0", "Cast", "FLOAT", "FLOAT16"), ("MatMul_p", "MatMulV2", "FLOAT16;FLOAT16", "FLOAT16"),
        ("trans_Cast_1", "Cast", "FLOAT16", "FLOAT"), ("Exp_y", "Exp", "FLOAT", "FLOAT")]


def test_the_lists_can_be_changed(tmp_path):
    file = tmp_path / "list.json"
    changes = {"black-list": {"to-remove": ["Exp"], "to-add": ["MatMulV2"]}, "white-list": {"to-remove": ["MatMulV2"]}}
    file.write_text(json.dumps(changes))
    _, kernels = answer(growing(), tmp_path, [2048, 1], precision_mode="allow_mix_precision", modify_mixlist=str(file))
    assert {k[2] for k in kernels} == {"FLOAT;FLOAT", "FLOAT"}
    file.write_text(json.dumps({"white-list": {"to-add": ["Exp"]}}))
    assert answer(growing(), tmp_path, [6, 6], precision_mode="allow_mix_precision", modify_mixlist=str(file))[0] == math.inf


@pytest.mark.parametrize("line", ["MatMul_y", "OpType::MatMul", "OpType::MatMulV2"])
def test_named_operators_keep_their_type(tmp_path, line):
    file = tmp_path / "keep.txt"
    file.write_text(f"\n{line}\n")
    assert answer(product(), tmp_path, [2048, 1], keep_dtype=str(file))[0] == 2049.0


def test_weights_that_both_kinds_read_are_held_twice(tmp_path):
    """w = 1.0004: the product reads its rounded form (1), the black-listed division the whole one."""
    made = model([node("MatMul", "x w", "p"), node("Div", "p w", "y")], "y", {"w": np.full((1, 1), 1.0004, np.float32)}, {"x": [1, 1]})
    value, _ = answer(made, tmp_path, [1], precision_mode="allow_mix_precision")
    assert value == pytest.approx(1 / np.float32(1.0004), abs=1e-7)


@pytest.mark.parametrize("text, code", [("{", "E21002"), ('{"pink-list": {}}', "E21002"), ('{"white-list": {"add": []}}', "E21002"),
                                        ('{"white-list": 3}', "E21002"), (None, "E21001")])
def test_unusable_lists(tmp_path, text, code):
    file = tmp_path / "list.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(AtcError) as caught:
        convert(product(), tmp_path, precision_mode="allow_mix_precision", modify_mixlist=str(file))
    assert caught.value.code == code


def test_bfloat16_needs_a_chip_that_has_it(tmp_path):
    with pytest.raises(AtcError) as caught:
        convert(product(), tmp_path, precision_mode="allow_mix_precision_bf16", soc_version="Ascend310P3")
    assert "Ascend310P3 has no bfloat16" in caught.value.message


def test_weights_round_to_the_nearest_even():
    from onnx import numpy_helper

    given = numpy_helper.from_array(np.array([1 + 2**-8, 1 + 3 * 2**-8, -257.0, 1e38, np.inf], np.float32), "w")
    assert numpy_helper.to_array(rounded(given, "bfloat16", "v")).tolist()[:3] == [1.0, 1 + 2**-6, -256.0]
    assert numpy_helper.to_array(rounded(given, "bfloat16", "v"))[4] == np.inf
    assert numpy_helper.to_array(rounded(given, "float16", "v"))[3] == 65504.0
