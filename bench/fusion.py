"""What fusion does to a network: kernels, bytes, predicted device time, memory reuse; and what a conversion costs beside
onnxruntime's own session build. `python bench/fusion.py [resnet50 ...] [--precision MODE] [--json]`

The networks are onnx's light models. The shipped weights are constants of one value, so that everything would fold; they are
replaced by seeded random ones. Times of conversion and session build are CPU time, best of five, imports left out.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

from npu.graph.compile import compile
from npu.graph.options import conversion
from npu.graph.report import of
from npu.om import SUFFIX

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
SEED = 11


class Figures(NamedTuple):
    """bytes through global memory, device time in ns of all kernels one after another, reuse: share of the results' memory."""

    kernels: int
    bytes: int
    duration: int
    reuse: float


def network(name: str) -> Any:
    """light_<name>.onnx with random weights instead of its ConstantOfShape nodes: He-scaled filters, positive vectors."""
    proto = onnx.load(str(LIGHT / f"light_{name}.onnx"))
    rng = np.random.default_rng(SEED)
    shapes = {t.name: numpy_helper.to_array(t) for t in proto.graph.initializer}
    kept = []
    for node in proto.graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        dims = tuple(int(d) for d in shapes[node.input[0]])
        fan = max(int(np.prod(dims[1:])), 1)
        array = rng.normal(size=dims) * (2 / fan) ** 0.5 if len(dims) > 1 else rng.uniform(0.5, 1.5, dims)
        proto.graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), node.output[0]))
    del proto.graph.node[:]
    proto.graph.node.extend(kept)
    return proto


def options(model: Path, **more: str) -> Any:
    flags = {"framework": "5", "model": str(model), "output": str(model.with_suffix("")), "soc_version": "Ascend910B3"}
    return conversion({**flags, "export_compile_stat": "0", **more}, "bench")


def figures(model: Path, **more: str) -> Figures:
    """Of one conversion."""
    report = of(compile(options(model, **more)).model, str(model))
    return Figures(report.after.kernels, report.after.bytes, report.after.duration, report.reuse or 0.0)


def best(run: Callable[[], object], anew: Path, times: int = 5) -> float:
    """CPU seconds of the fastest of some runs, each without the file that the one before left: giving its pages back is no part
    of a conversion."""
    took = []
    for _ in range(times):
        anew.unlink(missing_ok=True)
        begun = time.process_time()
        run()
        took.append(time.process_time() - begun)
    return min(took)


def costs(model: Path, **more: str) -> tuple[float, float]:
    """CPU seconds of a conversion and of onnxruntime's session build."""
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    wanted = options(model, **more)
    compile(wanted)  # what is loaded and cached once
    made = model.with_suffix(SUFFIX)
    ours = best(lambda: compile(wanted), made)
    return ours, best(lambda: onnxruntime.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"]), made)


def measured(name: str, precision: str, folder: Path) -> dict[str, Any]:
    """Everything about one network."""
    model, off = folder / f"{name}.onnx", folder / "off"
    model.write_bytes(network(name).SerializeToString())
    off.write_text("ALL:off\n")
    ours, theirs = costs(model, precision_mode=precision)
    return {
        "name": name,
        "unfused": figures(model, precision_mode=precision, fusion_switch_file=str(off))._asdict(),
        "fused": figures(model, precision_mode=precision)._asdict(),
        "conversion_s": round(ours, 3),
        "onnxruntime_s": round(theirs, 3),
    }


def row(title: str, found: dict[str, Any]) -> str:
    moved, time = f"{found['bytes'] / 1e6:.1f} MB", f"{found['duration'] / 1e3:.0f} us"
    return f"| {title} | {found['kernels']} | {moved} | {time} | {found['reuse']:.0%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["resnet50"])
    parser.add_argument("--precision", default="force_fp16")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = [measured(name, args.precision, Path(folder)) for name in args.names]
    if args.json:
        print(json.dumps(found))
        return
    print("| network | kernels | bytes moved | device time | memory reused |", "|---|---|---|---|---|", sep="\n")
    for each in found:
        print(row(f"{each['name']}, fusion off", each["unfused"]), row(f"{each['name']}, fused", each["fused"]), sep="\n")
    for each in found:
        ours, theirs = each["conversion_s"], each["onnxruntime_s"]
        print(f"{each['name']}: converted in {ours} s, onnxruntime's session {theirs} s: {ours / theirs:.1f} times")


if __name__ == "__main__":
    main()
