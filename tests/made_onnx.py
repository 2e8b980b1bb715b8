"""Hand-made ONNX models for tests: a few nodes with fixed weights, and their conversion."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from npu.graph.compile import Summary, compile
from npu.graph.options import conversion

ORIGIN = {"precision_mode": "must_keep_origin_dtype"}


def weights(seed: int = 3, channels: int = 4) -> dict[str, np.ndarray]:
    """Filter, bias and the four values of a batch normalisation."""
    rng = np.random.default_rng(seed)
    return {
        "w": rng.normal(size=(channels, 3, 3, 3)).astype(np.float32), "b": rng.normal(size=channels).astype(np.float32),
        "scale": rng.uniform(0.5, 2, channels).astype(np.float32), "offset": rng.normal(size=channels).astype(np.float32),
        "mean": rng.normal(size=channels).astype(np.float32), "var": rng.uniform(0.5, 2, channels).astype(np.float32),
    }


def node(op_type: str, inputs: str, outputs: str, **attributes: object) -> onnx.NodeProto:
    """node("Add", "a b", "c"): named after its first output."""
    return helper.make_node(op_type, inputs.split(), outputs.split(), name=f"{op_type}_{outputs.split()[0]}", **attributes)


def conv_bn(out: str = "n", data: str = "x") -> list[onnx.NodeProto]:
    return [node("Conv", f"{data} w b", "c", pads=[1, 1, 1, 1]), node("BatchNormalization", "c scale offset mean var", out)]


def model(nodes: list[onnx.NodeProto], outputs: str, constants: dict[str, np.ndarray],
          inputs: dict[str, list[object]] | None = None, opset: int = 13, types: dict[str, int] | None = None) -> onnx.ModelProto:
    """A model with float32 inputs ({"x": [1, 3, 8, 8]} unless said) and outputs without a stored shape."""
    given = {"x": [1, 3, 8, 8]} if inputs is None else inputs
    kinds = types or {}
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(n, kinds.get(n, TensorProto.FLOAT), d) for n, d in given.items()],
        [helper.make_tensor_value_info(n, kinds.get(n, TensorProto.FLOAT), None) for n in outputs.split()],
        [numpy_helper.from_array(a, n) for n, a in constants.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 8
    return made


def convert(made: onnx.ModelProto, folder: Path, **flags: str) -> Summary:
    """Write the model to the folder and convert it to m.om there."""
    source = folder / "m.onnx"
    source.write_bytes(made.SerializeToString())
    return compile(conversion({"framework": "5", "model": str(source), "output": str(folder / "m"), "soc_version": "Ascend910B3",
                               "export_compile_stat": "0", **flags}, "atc"))


def expected(made: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """What onnxruntime says to the original."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feeds)
