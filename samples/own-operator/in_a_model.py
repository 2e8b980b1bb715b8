"""An operator of one's own in an ONNX model: converted by atc, run, and its schedule made better by aoe."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, save

from npu.session import InferenceSession

HERE = Path(__file__).resolve().parent
SHAPE = [2048, 2048]


def model(path: str) -> None:
    node = helper.make_node("AddRelu", ["x", "y"], ["z"], "own", domain="my.ops", scale=-0.5)
    given = [helper.make_tensor_value_info(n, TensorProto.FLOAT16, SHAPE) for n in "xy"]
    graph = helper.make_graph([node], "own", given, [helper.make_tensor_value_info("z", TensorProto.FLOAT16, SHAPE)])
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("my.ops", 1)]
    save(helper.make_model(graph, opset_imports=sets, ir_version=8), path)


def command(*words: str) -> None:
    tool = Path(sys.executable).with_name(words[0])
    subprocess.run([str(tool), *words[1:]], check=True, env=os.environ | {"ASCEND_CUSTOM_OPP_PATH": str(HERE)})


def main() -> None:
    model("own.onnx")
    command("atc", "--framework=5", "--model=own.onnx", "--output=own", "--soc_version=Ascend910B3")
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=SHAPE).astype(np.float16) for _ in "xy")
    with InferenceSession("own.om") as session:
        (z,) = session.run(None, {"x": x, "y": y})
    assert np.allclose(z, np.maximum(x - y / 2, 0), atol=1e-2)
    print("computed as written")
    command("aoe", "--model=own.onnx", "--job_type=2", "--output=own", "--soc_version=Ascend910B3")


if __name__ == "__main__":
    main()
