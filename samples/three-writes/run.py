"""Convert a network with fusion and without, run both, compare what they write to memory.

usage: python run.py [FOLDER]      default folder: a temporary one
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BIN = Path(sys.executable).parent
LAYERS, CHANNELS, SIZE = 8, 64, 56
COMPUTING = ("Conv2D", "BNInfer", "Relu")

TIMED = """
import sys
import acl, numpy as np
from npu.session import InferenceSession
session = InferenceSession(sys.argv[1])
x = np.random.default_rng(2).normal(size=(1, {channels}, {size}, {size})).astype(np.float32)
np.save(sys.argv[2], session.run(None, {{"x": x}})[0])
"""


def network(path: Path) -> None:
    """The layers, with seeded random weights that keep the values near one."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save

    rng, nodes, held, last = np.random.default_rng(3), [], [], "x"
    for n in range(LAYERS):
        arrays = {
            "w": rng.normal(size=(CHANNELS, CHANNELS, 3, 3)) / 24,
            "s": rng.uniform(0.8, 1.2, CHANNELS),
            "o": rng.normal(size=CHANNELS) / 8,
            "m": rng.normal(size=CHANNELS) / 8,
            "v": rng.uniform(0.8, 1.2, CHANNELS),
        }
        held += [numpy_helper.from_array(a.astype(np.float32), f"{k}{n}") for k, a in arrays.items()]
        nodes += [
            helper.make_node("Conv", [last, f"w{n}"], [f"c{n}"], f"conv{n}", pads=[1, 1, 1, 1]),
            helper.make_node("BatchNormalization", [f"c{n}", f"s{n}", f"o{n}", f"m{n}", f"v{n}"], [f"n{n}"], f"norm{n}"),
            helper.make_node("Relu", [f"n{n}"], [f"r{n}"], f"relu{n}"),
        ]
        last = f"r{n}"
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, CHANNELS, SIZE, SIZE]) for n in ("x", last))
    graph = helper.make_graph(nodes, "layers", [x], [y], held)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def go(folder: Path, *words: str) -> str:
    environ = {**os.environ, "NPU_SIM": "1", "NPU_STATE_DIR": str(folder / "state")}
    done = subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> int:
    import numpy as np

    with tempfile.TemporaryDirectory() as made:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else made).absolute()
        network(folder / "layers.onnx")
        (folder / "off.cfg").write_text("ALL:off\n")
        (folder / "run.py").write_text(TIMED.format(channels=CHANNELS, size=SIZE))
        results = []
        for name, extra in (("unfused", ("--fusion_switch_file=off.cfg",)), ("fused", ())):
            go(
                folder,
                str(BIN / "atc"),
                "--framework=5",
                "--model=layers.onnx",
                f"--output={name}",
                "--soc_version=Ascend910B3",
                *extra,
            )
            facts = json.loads(go(folder, str(BIN / "npuscope"), "graph", f"{name}.om", "--json"))
            go(folder, sys.executable, "-m", "npu", "run.py", f"{name}.om", f"{name}.npy")
            results.append(np.load(folder / f"{name}.npy"))
            writes = sum(k["op_type"] in COMPUTING for k in facts["lines"])
            print(f"{name:<8} {writes:3} results written to memory, {facts['after']['bytes'] / 1e6:6.1f} MB moved, "
                  f"{facts['after']['duration'] / 1e3:6.1f} us on the device, memory reuse {facts['reuse']:.0%}")  # fmt: skip
        apart = float(abs(results[0] - results[1]).max())
        print(f"largest difference between the two results {apart:.4f} (half precision is rounded at every write)")
    return int(apart > 0.05)


if __name__ == "__main__":
    sys.exit(main())
