"""The session for people who come from onnxruntime: the same calls, the same numbers, refusals by name."""

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
