"""aclruntime and ais_bench as their own users call them: what a session refuses and with which exception, shapes told by the feeds,
outputs fed back, runs over files, a process for each device."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import made_onnx
from tests.scripts.acl_script import said

HEAD = """
import numpy as np, aclruntime
from ais_bench.infer.interface import InferSession, MemorySummary, MultiDeviceSession
def raised(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """static, batch, hw: sums of the elements by channel; dims: x + z; any: x + x."""
    folder = tmp_path_factory.mktemp("models")
    mean = [made_onnx.node("GlobalAveragePool", "x", "y")]
    kinds = {
        "static": (mean, {"x": [1, 3, 8, 8]}, {}),
        "batch": (mean, {"x": ["n", 3, 8, 8]}, {"input_shape": "x:-1,3,8,8", "dynamic_batch_size": "1,2,4"}),
        "hw": (mean, {"x": [1, 3, "h", "w"]}, {"input_shape": "x:1,3,-1,-1", "dynamic_image_size": "8,8;8,16"}),
        "dims": ([made_onnx.node("Add", "x z", "y")], {"x": ["n", 4], "z": ["n", 4]},
                 {"input_shape": "x:-1,4;z:-1,4", "dynamic_dims": "2,2;3,3", "input_format": "ND"}),
        "any": ([made_onnx.node("Add", "x x", "y")], {"x": ["n", 4]}, {"input_shape": "x:-1,4"}),
    }  # fmt: skip
    for name, (nodes, inputs, flags) in kinds.items():
        made = made_onnx.convert(made_onnx.model(nodes, "y", {}, inputs), folder, **made_onnx.ORIGIN, **flags)
        Path(made.path).rename(folder / f"{name}.om")
    return folder


def test_what_a_session_refuses(start, models):
    assert said(
        start,
        f"""
s = aclruntime.InferenceSession({str(models / "static.om")!r}, 0, aclruntime.session_options())
desc = s.get_inputs()[0]
print(desc.datatype, int(desc.datatype), [aclruntime.dtype.double, aclruntime.dtype.bool], str(s).splitlines()[0])
raw = np.frombuffer(bytearray(desc.realsize))  # the bytes count, not type and shape
t = aclruntime.Tensor(raw)
print(t.device, t.type, t.dtype == aclruntime.dtype.double, t.shape)
t.to_device(0)
print(t.device, t.type, raised(lambda: np.array(t)))
many = aclruntime.Tensor(np.zeros(desc.size + 32, np.float32))
print(
    raised(lambda: s.run(None, [t])),
    raised(lambda: s.run(["y"], [raw])),
    raised(lambda: s.run(["y"], {{"x": raw}})),
    raised(lambda: s.run(["no"], [t])),
    raised(lambda: s.run(["y"], [many])),
    raised(lambda: s.run(["y"], [t, t])),
    raised(lambda: aclruntime.Tensor(raw).to_device(100)),
    raised(lambda: aclruntime.InferenceSession("none.om", 0, aclruntime.session_options())),
)
outs = s.run([], {{"x": t}})
outs[0].to_host()
print(np.array(outs[0]).shape, len(s.sumary().exec_time_list))
print(raised(lambda: s.inner_run([0], ["y"], True, True)))
s.first_inner_run(["y"], [aclruntime.Tensor(np.ones((1, 3, 8, 8), np.float32))])
print(s.inner_run([-1], ["y"], False, True))
last = s.inner_run([-1], ["y"], True, True)[0]
last.to_host()
print(np.array(last).ravel())
""",
        head=HEAD,
    ) == [
        "dtype.float32 0 [<dtype.double: 11>, <dtype.bool: 12>] <Model>",
        "-1 0 True [96]",
        "0 1 RuntimeError",
        "TypeError TypeError TypeError RuntimeError RuntimeError RuntimeError RuntimeError RuntimeError",
        "(1, 3, 1, 1) 1",
        "RuntimeError",
        "[]",
        "[1. 1. 1.]",
    ]


def test_shapes_are_told_by_the_feeds(start, models):
    assert said(
        start,
        f"""
def session(name):
    return InferSession(0, {str(models)!r} + "/" + name + ".om")
batch, hw, dims, open_, fixed = map(session, ("batch", "hw", "dims", "any", "static"))
ones = lambda *shape: np.ones(shape, np.float32)
print(batch.infer([ones(2, 3, 8, 8)], mode="dymbatch")[0].shape, raised(lambda: batch.infer([ones(3, 3, 8, 8)], "dymbatch")))
print(hw.infer([ones(1, 3, 8, 16)], "dymhw")[0].ravel(), raised(lambda: hw.infer([ones(1, 3, 16, 8)], "dymhw")))
print(dims.infer([ones(3, 4), 2 * ones(3, 4)], "dymdims")[0][0], raised(lambda: dims.infer([ones(3, 4)], "dymdims")))
print(open_.infer([ones(5, 4)], "dymshape", custom_sizes=[4096])[0].shape)
print(open_.infer([ones(5, 4)], "dymshape", out_array=False)[0].device, raised(lambda: open_.infer([[1.0]], "static")))
print(raised(lambda: fixed.infer([ones(1, 3, 8, 8)], "dymbatch")), raised(lambda: fixed.infer([ones(1, 3, 8, 8)], "other")))
print(batch.get_max_dym_batchsize(), fixed.get_max_dym_batchsize(), fixed.get_dym_aipp_input_exist())
print([o[0].shape for o in batch.infer_pipeline([[ones(4, 3, 8, 8)]] * 2, "dymbatch")])
print([o[0].shape for o in open_.infer_pipeline([[ones(n, 4)] for n in (2, 3)], "dymshape")])
# x + x again and again: 1, 2, 4, 8
print(open_.infer_iteration([ones(1, 4)], in_out_list=[0], iteration_times=3, mode="dymshape", custom_sizes=16)[0])
print(raised(lambda: open_.infer_iteration([ones(1, 4)], [1], 2)), raised(lambda: open_.infer_iteration([ones(1, 4)], [0], 0)))
print(len(MemorySummary.get_h2d_time_list()) > 0, MemorySummary.reset(), MemorySummary.get_D2H_time_list())
""",
        head=HEAD,
    ) == [
        "(2, 3, 1, 1) RuntimeError",
        "[1. 1. 1.] RuntimeError",
        "[3. 3. 3. 3.] RuntimeError",
        "(5, 4)",
        "0 RuntimeError",
        "RuntimeError RuntimeError",
        "4 0 0",
        "[(4, 3, 1, 1), (4, 3, 1, 1)]",
        "[(2, 4), (3, 4)]",
        "[[8. 8. 8. 8.]]",
        "ValueError ValueError",
        "True None []",
    ]


def test_files_in_and_files_out(start, models):
    assert said(
        start,
        f"""
import os
for n in range(2):
    np.full((1, 3, 8, 8), n, np.float32).tofile(f"in{{n}}.bin")
np.save("three.npy", np.full((1, 3, 8, 8), 3, np.float32))
os.mkdir("out")
s = InferSession(0, {str(models / "static.om")!r})
s.run_pipeline([["in0.bin"], ["in1.bin"]], "out")
s.run_pipeline([["three.npy"]], "out", outfmt="NPY")
s.run_pipeline([[aclruntime.PURE_INFER_DATA_ZERO]], "out", outfmt="TXT")
print(sorted(os.listdir("out")))
print(np.fromfile("out/in1_0.bin", np.float32), np.load("out/three_0.npy").ravel(), len(s.summary().exec_time_list))
print(raised(lambda: s.run_pipeline([["none.bin"]], "out")))
""",
        head=HEAD,
    ) == [
        "['in0_0.bin', 'in1_0.bin', 'pure_infer_data_0_0.txt', 'three_0.npy']",
        "[1. 1. 1.] [3. 3. 3.] 4",
        "FileNotFoundError",
    ]


@pytest.mark.slow
def test_a_process_for_each_set_of_feeds(start, models):
    assert said(
        start,
        f"""
if __name__ == "__main__":
    many = MultiDeviceSession({str(models / "static.om")!r})
    feeds = lambda value: [np.full((1, 3, 8, 8), value, np.float32)]
    outputs = many.infer({{0: [feeds(1), feeds(2)], 1: [feeds(3)]}})
    print({{device: [float(o[0].ravel()[0]) for o in sets] for device, sets in outputs.items()}})
    print({{device: len(times) for device, times in many.summary.items()}}, raised(lambda: many.infer({{}})))
""",
        head=HEAD,
    ) == ["{0: [1.0, 2.0], 1: [3.0]}", "{0: 2, 1: 1} RuntimeError"]
