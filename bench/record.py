"""What an asynchronous call costs in real time: unrecorded, recorded, recorded with stacks. `python bench/record.py [--json]`"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# Times are CPU time of the process: absolute times on shared machines lie by a factor of two.
SCRIPT = """
import acl, json, sys
from time import CLOCK_PROCESS_CPUTIME_ID, clock_gettime_ns
N, BURST = 40_000, 40
acl.init(); acl.rt.set_device(0)
s, _ = acl.rt.create_stream(); e, _ = acl.rt.create_event()
size = 4096
d, _ = acl.rt.malloc(size, 0); h, _ = acl.rt.malloc_host(size)
model, ret = acl.mdl.load_from_file(sys.argv[1]); assert ret == 0, acl.get_recent_err_msg()
sets = []
for _ in range(2):
    p, _ = acl.rt.malloc(size, 0)
    sets.append(acl.mdl.create_dataset())
    acl.mdl.add_dataset_buffer(sets[-1], acl.create_data_buffer(p, size))
def deep(depth, call, *args):
    # the measurement below so many further frames of a script
    return deep(depth - 1, call, *args) if depth else measured(call, *args)
def time(call, *args):
    return deep(8, call, *args)
def measured(call, *args):
    best = 1e9
    for _ in range(7):
        took = 0
        for _ in range(N // 10 // BURST):
            begun = clock_gettime_ns(CLOCK_PROCESS_CPUTIME_ID)
            for _ in range(BURST):
                ret = call(*args)
            took += clock_gettime_ns(CLOCK_PROCESS_CPUTIME_ID) - begun
            acl.rt.synchronize_stream(s)
        best = min(best, took / (N // 10))
    return best
print(json.dumps({
    "get_device": time(acl.rt.get_device),
    "record_event": time(acl.rt.record_event, e, s),
    "memcpy_async": time(acl.rt.memcpy_async, d, size, h, size, 1, s),
    "execute_async": time(acl.mdl.execute_async, model, *sets, s),
}))
"""


def model(path: Path) -> None:
    """A model of one small kernel."""
    from onnx import TensorProto, helper

    from npu import om
    from npu.cost import Work

    ends = [om.Tensor(n, "float32", (1024,)) for n in ("x", "y")]
    kernel = om.Kernel("relu", "Relu", Work("vector", "Relu", "float32", (1024, 1), 4096, 4096))
    told = om.Model("Ascend910B3", {"cann": "8.3.RC1"}, (ends[0],), (ends[1],), (kernel,))
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1024]) for n in ("x", "y")]
    proto = helper.make_model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", values[:1], values[1:]))
    for key, value in om.to_metadata(told).items():
        proto.metadata_props.add(key=key, value=value)
    path.write_bytes(om.seal(proto.SerializeToString()))


def measure(recorded: bool, stacks: bool = False) -> dict[str, float]:
    """Best of several, ns per call, in a process of its own."""
    from npu.shim.launch import environment

    with tempfile.TemporaryDirectory() as folder:
        script, network = Path(folder) / "calls.py", Path(folder) / "relu.om"
        script.write_text(SCRIPT)
        model(network)
        env = environment({**os.environ, "NPU_STATE_DIR": folder, "NPU_COMPUTE": "off"}, clock="model")
        env.pop("NPU_SINK", None)
        env["NPU_STACKS"] = "1" if stacks else ""
        if recorded:
            env |= {"NPU_SINK": "profiler.record.sink:open_sink", "NPUSCOPE_OUTPUT": folder}
        done = subprocess.run([sys.executable, str(script), str(network)], env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        figures: dict[str, float] = json.loads(done.stdout)
        return figures


def main() -> None:
    """Print plain and recorded cost per call, and the difference."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    plain, recorded, stacks = measure(False), measure(True), measure(True, stacks=True)
    figures = {
        name: {
            "plain_ns": round(plain[name]),
            "recorded_ns": round(recorded[name]),
            "added_ns": round(recorded[name] - plain[name]),
            "stacks_add_ns": round(stacks[name] - recorded[name]),
        }
        for name in plain
    }
    if "--json" in sys.argv:
        print(json.dumps(figures, indent=1))
        return
    for name, figure in figures.items():
        more = f"+{figure['added_ns']} ns, stacks of ten frames +{figure['stacks_add_ns']} ns"
        print(f"{name:14} {figure['plain_ns']:6} ns unrecorded  {figure['recorded_ns']:6} ns recorded  {more}")


if __name__ == "__main__":
    main()
