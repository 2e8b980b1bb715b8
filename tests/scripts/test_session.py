"""The session for people who come from onnxruntime: the same calls, the same numbers, refusals by name."""

import pytest

from tests.made_onnx import conv_bn, model, node, weights

SCRIPT = """
    import numpy as np, onnxruntime
    from npu.session import InferenceSession

    def script(kind, **more):
        session = kind("m.onnx", providers=["CPUExecutionProvider"], **more)
        x = np.random.default_rng(1).normal(size=(2, 3, 8, 8)).astype(np.float32)
        given = session.get_inputs()
        names = [i.name for i in given], [o.name for o in session.get_outputs()], [i.type for i in given]
        return names, session.run(["y"], {"x": x})[0]

    theirs = script(onnxruntime.InferenceSession)
    gears = {"input_shape": "x:-1,3,8,8", "dynamic_batch_size": "1,2"}
    for flags in ({"input_shape": "x:2,3,8,8"}, {"input_shape": "x:1~4,3,8,8"}, gears):
        ours = script(InferenceSession, precision_mode="must_keep_origin_dtype", **flags)
        assert ours[0] == theirs[0], ours[0]
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-4, atol=1e-5)
    half = script(InferenceSession, input_shape="x:2,3,8,8")[1]
    assert 0 < abs(half - theirs[1]).max() < 0.05

    with InferenceSession("m.onnx", input_shape="x:-1,3,8,8", dynamic_batch_size="1,2") as session:
        assert session.get_inputs()[0].shape == ["x_0", 3, 8, 8] and session.get_providers() == ["NPUExecutionProvider"]
        x = np.zeros((3, 3, 8, 8), np.float32)
        for call in (lambda: session.run(None, {}), lambda: session.run(["z"], {"x": x}), lambda: session.run(None, {"x": x[0]}),
                     lambda: session.run(None, {"x": x}, object()),
                     lambda: InferenceSession("m.onnx", providers=["CUDAExecutionProvider"]),
                     lambda: session.run(None, {"x": x})):
            try:
                call()
            except (ValueError, RuntimeError) as error:
                print(type(error).__name__, error)
"""


@pytest.mark.slow
def test_one_script_for_both(start, tmp_path):
    made = model([*conv_bn(), node("Relu", "n", "y")], "y", weights(), {"x": ["N", 3, 8, 8]})
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    ran = start("python", "-m", "npu", "script.py", script=SCRIPT)
    assert ran.code == 0, ran.out + ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "ValueError required inputs ['x'] are missing from input feed []"
    assert (
        "'z' is no output" in lines[1]
        and "(3, 8, 8)" in lines[2]
        and "run_options" in lines[3]
        and "CUDAExecutionProvider" in lines[4]
    )
    assert lines[5].startswith("SessionError mdl.set_input_dynamic_dims: ")


TYPES = """
    import ml_dtypes, numpy as np
    from npu.session import InferenceSession

    def run(name, **feeds):
        with InferenceSession(f"{name}.onnx", precision_mode="must_keep_origin_dtype", newest_opset="28") as session:
            return session.run(None, feeds)[0]

    x = np.array([[1, 0, 3], [0, 5, 6]], np.float32)
    found = run("places", x=x)
    print("places", found.dtype, found.tolist())
    narrow = run("narrow", x=np.array([1.25, -7.9, 3.0], np.float32))
    print("narrow", narrow.dtype, narrow.astype(int).tolist())
    back = run("wide", x=narrow)
    print("wide", back.dtype, back.tolist())
    small = run("small", x=np.array([1.06, 448.0], np.float32))
    print("small", small.dtype, small.astype(np.float32).tolist())
    half = run("brain", x=np.array([1, 3], ml_dtypes.bfloat16))
    print("brain", half.dtype, half.astype(np.float32).tolist())
    text = run("texts", x=np.array(["a", ""], object), y=np.array(["b", "é"], object))
    print("texts", text.tolist())
    print("empty", run("empty", x=np.zeros((0, 3), np.float32)).tolist())
    import acl
    print("memory", acl.rt.get_mem_info(1)[0] == acl.rt.get_mem_info(1)[1] or "held")
"""


def test_every_element_type_open_results_and_empty_tensors(start, tmp_path):
    from onnx import TensorProto as T
    from onnx import helper

    def save(name, op, ins, out, **attributes):
        names = "xy"[: len(ins)]
        graph = helper.make_graph([helper.make_node(op, list(names), ["z"], **attributes)], "g",
                                  [helper.make_tensor_value_info(n, *i) for n, i in zip(names, ins, strict=True)],
                                  [helper.make_tensor_value_info("z", *out)])  # fmt: skip
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=11)
        (tmp_path / f"{name}.onnx").write_bytes(made.SerializeToString())

    save("places", "NonZero", [(T.FLOAT, [2, 3])], (T.INT64, None))
    save("narrow", "Cast", [(T.FLOAT, [3])], (T.INT4, None), to=T.INT4)
    save("wide", "Cast", [(T.INT4, [3])], (T.FLOAT, None), to=T.FLOAT)
    save("small", "Cast", [(T.FLOAT, [2])], (T.FLOAT8E4M3FN, None), to=T.FLOAT8E4M3FN)
    save("texts", "StringConcat", [(T.STRING, [2])] * 2, (T.STRING, None))
    save("empty", "ReduceSum", [(T.FLOAT, [0, 3])], (T.FLOAT, None), keepdims=1)
    brain = helper.make_graph([helper.make_node("Add", ["x", "x"], ["z"])], "g", [helper.make_tensor_value_info("x", T.BFLOAT16, [2])],
                              [helper.make_tensor_value_info("z", T.BFLOAT16, None)])  # fmt: skip
    made = helper.make_model(brain, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (tmp_path / "brain.onnx").write_bytes(made.SerializeToString())
    ran = start("python", "-m", "npu", "script.py", script=TYPES)
    assert ran.code == 0, ran.out + ran.err
    assert ran.out.splitlines() == [
        "places int64 [[0, 0, 1, 1], [0, 2, 1, 2]]",
        "narrow int4 [1, -7, 3]",
        "wide float32 [1.0, -7.0, 3.0]",
        "small float8_e4m3fn [1.0, 448.0]",
        "brain bfloat16 [2.0, 6.0]",
        "texts ['ab', 'é']",
        "empty [[0.0]]",
        "memory True",
    ]
