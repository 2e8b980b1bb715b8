"""Arithmetic: the session of a file, its guards, and the way to onnx.reference."""

import time

import numpy as np
import pytest
from onnx import TensorProto, helper, shape_inference

from npu import om
from npu.ops.compute import Session
from npu.ops.compute_limits import ComputeError, expanded
from tests.made_onnx import model, node


def saved(made, tmp_path, name="m.onnx"):
    path = tmp_path / name
    path.write_bytes(shape_inference.infer_shapes(made).SerializeToString())
    return path


def written(made, tmp_path):
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    return tmp_path / "m.onnx"


def test_runs_a_file(tmp_path):
    path = saved(model([node("Relu", "x", "y")], "y", {}, {"x": [2, 2]}), tmp_path)
    (found,) = Session(path).run({"x": np.array([[-1, 2], [3, -4]], np.float32)})
    assert found.tolist() == [[0, 2], [3, 0]]


def test_nothing_is_read_before_the_first_run(tmp_path):
    session = Session(tmp_path / "absent.om")
    with pytest.raises(ComputeError, match="No such file"):
        session.run({})


def test_the_reference_takes_what_onnxruntime_gets_wrong(tmp_path):
    made = model([node("DFT", "x", "y", axis=1)], "y", {}, {"x": [1, 4, 1]}, opset=17)
    (found,) = Session(saved(made, tmp_path)).run({"x": np.array([[[1], [0], [0], [0]]], np.float32)})
    np.testing.assert_allclose(found[0, :, 0], [1, 1, 1, 1])  # an impulse has a flat spectrum


def test_the_reference_is_not_asked_for_more_than_the_memory_there_is(tmp_path):
    nodes = [node("DFT", "x", "y", axis=1), node("ConstantOfShape", "dims", "z")]
    made = model(nodes, "y z", {"dims": np.int64([1 << 21, 1 << 21])}, {"x": [1, 4, 1]}, opset=17)
    with pytest.raises(ComputeError, match=r"z of shape \[2097152, 2097152\] is larger than the memory for arithmetic"):
        Session(saved(made, tmp_path)).run({"x": np.zeros((1, 4, 1), np.float32)})


def test_truth_values_of_nothing_have_a_largest_one(tmp_path):
    made = model([node("ReduceMax", "x axes", "y", keepdims=0)], "y", {"axes": np.int64([0])}, {"x": [0, 2]}, opset=20,
                 types={"x": TensorProto.BOOL, "y": TensorProto.BOOL})  # fmt: skip
    (found,) = Session(saved(made, tmp_path)).run({"x": np.zeros((0, 2), bool)})
    assert found.tolist() == [False, False]


def test_bfloat16_inputs_go_to_the_reference(tmp_path):
    import ml_dtypes

    made = model([node("Add", "x x", "y")], "y", {}, {"x": [2]}, types={"x": TensorProto.BFLOAT16, "y": TensorProto.BFLOAT16})
    (found,) = Session(saved(made, tmp_path)).run({"x": np.array([1, 2], ml_dtypes.bfloat16)})
    assert found.astype(np.float32).tolist() == [2, 4]


def test_wrong_inputs_are_one_error(tmp_path):
    path = saved(model([node("Relu", "x", "y")], "y", {}, {"x": [2, 2]}), tmp_path)
    with pytest.raises(ComputeError):
        Session(path).run({"x": np.zeros((3, 3), np.float32)})
    with pytest.raises(ComputeError):
        Session(path).run({})


def test_a_sealed_file_that_changed_is_refused(tmp_path):
    path = tmp_path / "m.om"
    made = model([node("Add", "x k", "y")], "y", {"k": np.float32([5, 5])}, {"x": [2]})
    data = bytearray(om.seal(saved(made, tmp_path).read_bytes()))
    assert om.intact(bytes(data))
    path.write_bytes(data)
    assert Session(path).run({"x": np.zeros(2, np.float32)})[0].tolist() == [5, 5]
    at = bytes(data).index(np.float32(5).tobytes())
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(ComputeError, match="changed after atc wrote it"):
        Session(path).run({"x": np.zeros(2, np.float32)})


def test_a_loop_without_end_is_stopped(tmp_path):
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go_on"]), helper.make_node("Add", ["v", "v"], ["w"])], "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []),
         helper.make_tensor_value_info("v", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
         helper.make_tensor_value_info("w", TensorProto.FLOAT, [1])])
    made = model([node("Loop", "trips yes x", "y", body=body)], "y",
                 {"trips": np.array(2**62, np.int64), "yes": np.array(True)}, {"x": [1]})
    made.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [1]))
    start = time.monotonic()
    with pytest.raises(ComputeError, match=r"longer than 0\.3 s"):
        Session(saved(made, tmp_path)).run({"x": np.ones(1, np.float32)}, time_limit=0.3)
    assert time.monotonic() - start < 10


def functions(depth):
    """depth functions that each call the one before twice: 2^depth nodes when expanded."""
    opset = [helper.make_opsetid("", 13), helper.make_opsetid("f", 1)]
    made = [helper.make_function("f", "f0", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], opset)]
    for level in range(1, depth):
        calls = [helper.make_node(f"f{level - 1}", [a], [b], domain="f") for a, b in ("at", "tb")]
        made.append(helper.make_function("f", f"f{level}", ["a"], ["b"], calls, opset))
    graph = helper.make_graph([helper.make_node(f"f{depth - 1}", ["x"], ["y"], domain="f")], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])])
    return helper.make_model(graph, opset_imports=opset, functions=made, ir_version=8)


def test_nested_functions_are_counted_before_they_are_expanded(tmp_path):
    assert expanded(functions(5)) == ({"Relu"}, 16)
    start = time.monotonic()
    with pytest.raises(ComputeError, match=r"expands to 33554432 nodes"):
        Session(written(functions(26), tmp_path)).run({"x": np.ones(1, np.float32)})
    assert time.monotonic() - start < 5


def test_a_function_that_calls_itself():
    made = functions(2)
    made.functions[0].node[0].op_type, made.functions[0].node[0].domain = "f1", "f"
    with pytest.raises(ComputeError, match="calls itself"):
        expanded(made)


def test_garbage_is_refused(tmp_path):
    path = tmp_path / "m.om"
    path.write_bytes(b"no model at all")
    with pytest.raises(ComputeError):
        Session(path).run({})


def test_an_invalid_graph_is_refused(tmp_path):
    made = model([node("Relu", "absent", "y")], "y", {}, {"x": [1]})
    with pytest.raises(ComputeError, match="not a valid model"):
        Session(written(made, tmp_path)).run({"x": np.ones(1, np.float32)})
