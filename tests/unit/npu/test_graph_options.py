"""ATC's options, --input_shape, the switch file, the error texts."""

import json
import re
from datetime import datetime

import pytest

from npu.graph import fusion_result, options
from npu.graph.errors import AtcError, texts
from npu.graph.input_shape import parse_shapes
from npu.graph.passes.base import GRAPH, UB, Outcome
from npu.graph.passes.registry import PASSES
from npu.graph.switches import read_switches
from npu.patterns import named

FLAGS = {"framework": "5", "model": "m.onnx", "output": "out/m", "soc_version": "Ascend910B3"}


def refused(flags):
    with pytest.raises(AtcError) as caught:
        options.conversion(flags, "")
    return caught.value


def test_defaults_and_output_suffix():
    made = options.conversion(FLAGS, "atc ...")
    assert (str(made.output), made.precision, made.input_format, made.reuse_memory) == ("out/m.om", "force_fp16", "NCHW", True)


@pytest.mark.parametrize("more, code, part", [
    ({"soc_version": "Ascend999"}, "E10001", "Ascend910B3, "),
    ({"framework": "9"}, "E10007", "5(Onnx)"),
    ({"framework": "3"}, "E10001", "ONNX models (5) only"),
    ({"log": "loud"}, "E10010", "loud"),
    ({"disable_reuse_memory": "2"}, "E10006", "either 1 or 0"),
    ({"enable_single_stream": "yes"}, "E10005", "true or false"),
    ({"dynamic_dims": "1;2"}, "E10040", "--dynamic_dims"),
    ({"auto_tune_mode": "RL"}, "E10001", "AOE"),
    ({"colour": "red"}, "E10001", "--colour"),
    ({"output": ""}, "E10004", "--output"),
    ({"output": "folder/"}, "E10022", "file name"),
    ({"precision_mode_v2": "cube_hif8"}, "E10001", "mixed_bfloat16"),
    ({"modify_mixlist": "list.json"}, "E10055", "--precision_mode is force_fp16"),
    ({"precision_mode": "force_fp16", "precision_mode_v2": "fp16"}, "E10056", "--precision_mode_v2"),
    ({"input_shape": "x:1,3;x:1,4"}, "E10002", "x is there twice"),
    ({"input_shape_range": "x:1~8,3"}, "E10048", "x:1~8,3 is not of that form"),
    ({"input_shape_range": "x:[1~8,3]", "input_shape": "x:1,3"}, "E10056", "--input_shape_range"),
    ({"input_shape_range": "x:[-1,3]", "dynamic_batch_size": "1,2"}, "E10009", "exclude each other"),
    ({"buffer_optimize": "off_optimize"}, "E10001", "l2_optimize"),
])
def test_wrong_options_are_refused_by_name(more, code, part):
    error = refused({**FLAGS, **more})
    assert error.code == code and part in error.message


@pytest.mark.parametrize("missing, code", [("framework", "E10007"), ("soc_version", "E10054"), ("model", "E10054")])
def test_required_options(missing, code):
    error = refused({k: v for k, v in FLAGS.items() if k != missing})
    assert error.code == code and missing in error.message


def test_precision_mode_v2_names_the_same_modes():
    assert options.conversion({**FLAGS, "precision_mode_v2": "origin"}, "").precision == "must_keep_origin_dtype"


def test_the_older_form_of_ranges():
    made = options.conversion({**FLAGS, "input_shape_range": "x:[1~8,3,-1]; y:[4]"}, "")
    assert made.shapes == {"x": (-1, 3, -1), "y": (4,)} and made.ranges == {("x", 0): (1, 8)}


def test_every_error_text_takes_exactly_its_arguments():
    for text in texts().values():
        assert set(re.findall(r"{(\w+)}", text.message)) == set(text.arguments), text.code


def test_error_block():
    error = AtcError("E10004", parameter="model", more=("first", "second"))
    assert error.block(7, datetime(2026, 1, 2, 3, 4, 5, 6007)).splitlines() == [
        "[PID: 7] 2026-01-02-03:04:05.006.007 Invalid_Argument(E10004): Value for --model is empty.",
        "        Possible Cause: first", "        second", "        Solution: Set a valid parameter value."]


def test_input_shapes():
    assert parse_shapes("a:1,3,224,224;b:0:2,4;s:") == {"a": (1, 3, 224, 224), "b:0": (2, 4), "s": ()}
    assert parse_shapes("") == {}


@pytest.mark.parametrize("text, code", [("1,3,4", "E10002"), ("x:1,2.5", "E10002"), ("x:1,-2", "E10011"), ("x:1,0", "E10011"),
                                        ("x:4~1,3", "E10002"), ("x:1,,3", "E10002")])
def test_wrong_input_shapes(text, code):
    with pytest.raises(AtcError) as caught:
        parse_shapes(text)
    assert caught.value.code == code


def test_passes_carry_real_names_and_run_in_order():
    assert named("ConvBatchnormFusionPass").name in {p.name for p in PASSES}
    assert [p.kind for p in PASSES] == sorted((p.kind for p in PASSES), key=[GRAPH, UB].index)


def test_switch_file_of_lines(tmp_path):
    path = tmp_path / "s.cfg"
    path.write_text("ConvBatchnormFusionPass:off\n\nTbeConv2DReluv2Pass : on\nALL:off\n")
    switches = read_switches(path)
    assert not switches.on("ConvBatchnormFusionPass", GRAPH)
    assert switches.on("TbeConv2DReluv2Pass", UB)
    assert not switches.on("Other", UB) and switches.on("Other", UB, switchable=False)
    assert switches.names() == ["ConvBatchnormFusionPass", "TbeConv2DReluv2Pass"]


def test_switch_file_of_json(tmp_path):
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"Switch": {"GraphFusion": {"ALL": "off", "SoftmaxFusionPass": "on"}, "UBFusion": {}}}))
    switches = read_switches(path)
    assert not switches.on("ConvBatchnormFusionPass", GRAPH)
    assert switches.on("SoftmaxFusionPass", GRAPH) and switches.on("TbeConv2DReluv2Pass", UB)


@pytest.mark.parametrize("text", ["ConvBatchnormFusionPass=off", "A:perhaps", '{"Switch": 3}', '{"Other": {}}', "{broken"])
def test_malformed_switch_files(tmp_path, text):
    path = tmp_path / "s.cfg"
    path.write_text(text)
    with pytest.raises(AtcError) as caught:
        read_switches(path)
    assert caught.value.code == "E21002"


def test_missing_switch_file(tmp_path):
    with pytest.raises(AtcError) as caught:
        read_switches(tmp_path / "absent")
    assert caught.value.code == "E21001"


def test_fusion_result_in_the_real_form(tmp_path, monkeypatch):
    monkeypatch.setenv("ASCEND_WORK_PATH", str(tmp_path))
    path = fusion_result.where(42)
    assert path == tmp_path / "FE" / "42" / "fusion_result.json"
    fusion_result.write(path, {GRAPH: {"A": Outcome(3, 2), "Silent": Outcome()}, UB: {"B": Outcome(1, 1)}})
    assert json.loads(path.read_text()) == {"session_and_graph_id_0_0": {
        "graph_fusion": {"A": {"effect_times": "2", "match_times": "3"}},
        "ub_fusion": {"B": {"effect_times": "1", "match_times": "1", "repository_hit_times": "0"}}}}
