"""Convert one network with an open batch and with gears, serve the same requests with both.

usage: python run.py [FOLDER]      default folder: a temporary one
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
LAYERS, WIDTH = 24, 256


def network(path: Path) -> None:
    """Layers of a product, a normalisation and a softmax gate: many small operators, as in real networks for text."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save

    rng, nodes, held, last = np.random.default_rng(6), [], [], "x"
    for n in range(LAYERS):
        held += [numpy_helper.from_array((rng.normal(size=(WIDTH, WIDTH)) / 64).astype(np.float32), f"w{n}")]
        nodes += [
            helper.make_node("MatMul", [last, f"w{n}"], [f"p{n}"], f"product{n}"),
            helper.make_node("Relu", [f"p{n}"], [f"r{n}"], f"relu{n}"),
            helper.make_node("Add", [f"r{n}", last], [f"s{n}"], f"skip{n}"),
        ]
        last = f"s{n}"
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", WIDTH]) for n in ("x", last))
    graph = helper.make_graph(nodes, "layers", [x], [y], held)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def go(folder: Path, *words: str) -> str:
    environ = {**os.environ, "NPU_SIM": "1", "NPU_STATE_DIR": str(folder / "state"), "NPU_CLOCK": "model"}
    done = subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> int:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else made).absolute()
        network(folder / "layers.onnx")
        found = {}
        for name, flags in (
            ("open", (f"--input_shape=x:1~32,{WIDTH}",)),
            ("gears", (f"--input_shape=x:-1,{WIDTH}", "--dynamic_batch_size=8,16,32")),
        ):
            go(
                folder,
                str(BIN / "atc"),
                "--framework=5",
                "--model=layers.onnx",
                f"--output={name}",
                "--soc_version=Ascend910B3",
                *flags,
            )
            told = go(folder, sys.executable, "-m", "npu", str(HERE / "serve.py"), f"{name}.om").split()
            found[name] = float(told[1]), float(told[3])
            print(f"{name:<6} {found[name][0]:8.1f} us a request, sum of the last result {found[name][1]:.2f}")
        factor = found["open"][0] / found["gears"][0]
        print(f"the open shape is {factor:.1f} times slower")
    return int(factor < 2 or abs(found["open"][1] - found["gears"][1]) > 0.5)


if __name__ == "__main__":
    sys.exit(main())
