"""The modes of atc beside the conversion: models as JSON, the report on operators."""

import json

import numpy as np
import pytest
from onnx import helper

from npu.graph.errors import AtcError
from npu.graph.precheck import check, result, where
from npu.graph.to_json import of_om, of_onnx, of_text
from tests.made_onnx import conv_bn, convert, model, node, weights


@pytest.fixture
def converted(tmp_path):
    nodes = [*conv_bn(), node("Relu", "n", "r"), node("Reshape", "r shape", "y")]
    return convert(model(nodes, "y", {**weights(), "shape": np.array([1, -1], np.int64)}), tmp_path).path


def test_an_om_is_a_model_definition(converted):
    made = of_om(converted)
    assert {"key": "soc_version", "value": {"s": "Ascend910B3"}} in made["attr"]
    (graph,) = made["graph"]
    assert graph["input"] == ["x:0"]
    told = [(o["id"], o["name"], o["type"], o.get("input", [])) for o in graph["op"]]
    assert told == [
        (0, "x", "Data", []), (1, "trans_Cast_0", "Cast", []), (2, "trans_TransData_1", "TransData", []),
        (3, "Conv_cRelu_r", "Conv2D", ["x:0"]), (4, "Reshape_y", "Reshape", ["Conv_cRelu_r:0"]),
        (5, "trans_TransData_2", "TransData", []), (6, "trans_Cast_3", "Cast", []),
        (7, "Node_Output", "NetOutput", ["Reshape_y:0"])]
    conv = graph["op"][3]
    assert conv["input_desc"][0] == {"dtype": "DT_FLOAT16", "layout": "NC1HWC0", "shape": {"dim": [1, 1, 8, 8, 16]}}
    assert conv["attr"] == [{"key": "_datadump_original_op_names", "value": {"list": {"s": ["Conv_c", "BatchNormalization_n", "Relu_r"]}}}]
    assert graph["op"][4]["attr"] == [{"key": "_no_task", "value": {"b": True}}]


def test_damaged_models_are_refused(converted):
    data = bytearray(converted.read_bytes())
    data[len(data) // 2] ^= 0xFF
    converted.write_bytes(bytes(data))
    with pytest.raises(AtcError) as caught:
        of_om(converted)
    assert caught.value.code == "E10041"


def test_an_onnx_model_is_its_message_without_weights(tmp_path):
    file = tmp_path / "m.onnx"
    file.write_bytes(model([node("Conv", "x w b", "y", pads=[1, 1, 1, 1])], "y", weights()).SerializeToString())
    made = of_onnx(file)
    assert made["ir_version"] == 8 and made["opset_import"][0]["version"] == 13
    assert made["graph"]["node"][0]["attribute"] == [{"name": "pads", "ints": [1, 1, 1, 1], "type": "INTS"}]
    assert made["graph"]["initializer"][1] == {"dims": [4], "data_type": 1, "name": "b"}
    json.dumps(made)


def test_a_dumped_graph_is_its_text(tmp_path):
    file = tmp_path / "ge_proto_00000001_graph_0_Build.txt"
    file.write_text('name: "m" graph { op { name: "a" input: "b:0" size: 5 attr { key: "k" value { i: 3 } } '
                    'attr { key: "l" value { list { i: 1 } } } output_desc { dtype: DT_FLOAT shape { dim: 2 dim: 3 } } } }')
    assert of_text(file) == {"name": "m", "graph": [{"op": [{
        "name": "a", "input": ["b:0"],
        "attr": [{"key": "k", "value": {"i": 3}}, {"key": "l", "value": {"list": {"i": [1]}}}],
        "output_desc": [{"dtype": "DT_FLOAT", "shape": {"dim": [2, 3]}}]}]}]}
    file.write_text("graph {")
    with pytest.raises(AtcError) as caught:
        of_text(file)
    assert caught.value.code == "E13005"


def test_the_report_counts_operators(tmp_path):
    """One unknown type, one name used twice (both nodes fail), one that is fine."""
    nodes = [node("Relu", "x", "a"), helper.make_node("Frobnicate", ["a"], ["b"], name="odd"),
             helper.make_node("Relu", ["b"], ["c"], name="twice"), helper.make_node("Relu", ["c"], ["y"], name="twice")]
    file = tmp_path / "m.onnx"
    file.write_bytes(model(nodes, "y", {}).SerializeToString())
    found = result(file, 20)
    assert (found["name"], found["result"], found["total"], found["pass"], found["fail"]) == ("g", "failed", 4, 1, 3)
    assert found["op"][0] == {"name": "Relu_a", "result": "success", "type": "ai.onnx::13::Relu"}
    assert found["op"][1] == {"cause": [{"code": 2, "message": "The type is not supported."}], "name": "odd", "result": "failed",
                              "type": "ai.onnx::13::Frobnicate"}
    assert [o.get("cause", [{}])[0].get("code") for o in found["op"]] == [None, 2, 4, 4]
    report = tmp_path / "r.json"
    with pytest.raises(AtcError) as caught:
        check(file, report, 20)
    assert caught.value.code == "E19010" and str(report) in caught.value.more[-1]
    assert json.loads(report.read_text()) == found


def test_the_report_goes_to_the_work_path(monkeypatch, tmp_path):
    monkeypatch.setenv("ASCEND_WORK_PATH", str(tmp_path))
    assert where("") == tmp_path / "check_result.json"
    monkeypatch.delenv("ASCEND_WORK_PATH")
    assert str(where("own.json")) == "own.json"
