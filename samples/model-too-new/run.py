"""Convert with CANN 7.0.0, run on a production host with 6.3.RC2, ask for the cause, convert again, run again.

usage: python run.py [FOLDER]      default folder for hosts and models: a temporary one
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
ONNX = ("--framework=5", "--soc_version=Ascend310P3", "--precision_mode=must_keep_origin_dtype")


def show(environ: dict[str, str], *words: str, host: str = "") -> int:
    """Run a command on a host, its output with ours; the exit code."""
    print(f"$ {f'NPU_HOST={host} ' if host else ''}{' '.join(Path(w).name if '/' in w else w for w in words)}", flush=True)
    status = subprocess.run(words, env={**environ, **({"NPU_HOST": host} if host else {})}, check=False).returncode
    print(f"[exit code {status}]\n", flush=True)
    return status


def network(path: Path) -> None:
    """y = relu(x) + 1 on four numbers."""
    from onnx import TensorProto, helper, save

    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4]) for n in ("x", "y"))
    one = helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0])
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Add", ["r", "one"], ["y"])]
    graph = helper.make_graph(nodes, "small", [x], [y], [one])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def main() -> int:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else made).absolute()
        environ = {**os.environ, "NPU_STATE_DIR": str(folder), "NPU_SIM": "1", "ASCEND_WORK_PATH": str(folder)}
        environ.pop("NPU_HOST", None)
        create = (str(BIN / "npu-diag"), "host", "create", "--soc", "Ascend310P3", "--devices", "1", "--force")
        show(environ, *create, "development", "--cann", "7.0.0", "--driver", "23.0.3")
        show(environ, *create, "production", "--preset", "production", "--cann", "6.3.RC2", "--driver", "23.0.rc2")
        show(environ, *create, "old-development", "--cann", "6.3.RC2", "--driver", "23.0.rc2")
        network(folder / "small.onnx")
        convert = (str(BIN / "atc"), f"--model={folder / 'small.onnx'}", *ONNX)
        infer = (sys.executable, "-m", "npu", str(HERE / "infer.py"))
        show(environ, *convert, f"--output={folder / 'new'}", host="development")
        failed = show(environ, *infer, str(folder / "new.om"), host="production")
        found = show(environ, str(BIN / "npu-diag"), "check", "--om", str(folder / "new.om"), host="production")
        show(environ, *convert, f"--output={folder / 'again'}", host="old-development")
        works = show(environ, *infer, str(folder / "again.om"), host="production")
    return 0 if failed and found == 1 and works == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
