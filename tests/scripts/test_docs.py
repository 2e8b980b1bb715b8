"""Every command and snippet in README and docs is executed, in a folder that holds what a reader would have: script.py, net.onnx,
a log folder and a recorded profile."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
PAGES = sorted([*ROOT.glob("README*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "samples").glob("README.md")])
COMMANDS = ("msprof", "npu-smi", "atc", "aoe", "npu-diag", "npuscope", "hccl_test", "python -m npu")
# what a placeholder in running text stands for
PLACES = {"PROF_...": "PROF_000001_*", "DIR": "PROF_000001_*", "CODE": "507018", "MODEL.om": "net.om"}
# not to be run here, each with its reason
LEFT = {
    "npu-smi top": "a live view that ends with a key",
    "npu-smi exporter": "a server that does not end",
    "--install-completion": "changes the reader's shell",
    "ONNX": "a form, not a command",
}
MENTIONS = {"msprof run", "msprof compare", "msprof run --soc", "msprof run --check-hazards", "npu-smi info watch"}  # a verb named in passing, without what it needs or without an end
SCRIPT = """
import acl
acl.init(); acl.rt.set_device(0)
size = 1 << 20
device, _ = acl.rt.malloc(size, 0); host, _ = acl.rt.malloc_host(size)
stream, _ = acl.rt.create_stream()
for _ in range(10):
    acl.rt.memcpy_async(device, size, host, size, 1, stream)
    acl.rt.synchronize_stream(stream)
acl.rt.destroy_stream(stream); acl.rt.free(device); acl.rt.free_host(host)
acl.rt.reset_device(0); acl.finalize()
"""
LOG = """\
[ERROR] RUNTIME(4711,python):2026-11-01-12:00:00.100.200 [npu_driver_mem.cc:500]4711 DevMemAlloc: halMemAlloc failed: device oom, size=1073741824
[ERROR] ASCENDCL(4711,python):2026-11-01-12:00:00.100.900 [memory.cpp:90]4711 aclrtMalloc: malloc device memory failed, errorCode is 207001
"""


def model(path: Path) -> None:
    """A small conv + batch normalisation + relu net."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save

    rng = np.random.default_rng(0)
    weights = {"w": rng.normal(size=(8, 3, 3, 3)), "scale": np.ones(8), "bias": np.zeros(8), "mean": np.zeros(8), "var": np.ones(8)}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "scale", "bias", "mean", "var"], ["b"], "bn"),
        helper.make_node("Relu", ["b"], ["y"], "relu"),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 32, 32])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 32, 32])],
        [numpy_helper.from_array(v.astype(np.float32), n) for n, v in weights.items()],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder a reader works in, made once and copied for every page."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "script.py").write_text(SCRIPT)
    log = folder / "ascend" / "log" / "debug" / "plog" / "plog-4711_20261101120000000.log"
    log.parent.mkdir(parents=True)
    log.write_text(LOG)
    model(folder / "net.onnx")
    for command in (
        "msprof run --clock model --no-summary script.py",
        "atc --model=net.onnx --framework=5 --output=net --soc_version=Ascend910B3",
    ):
        done = shell(command, folder)
        assert done.returncode == 0, done.stderr
    return folder


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line as the reader's shell would, our commands first on PATH."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("NPU", "ASCEND"))}
    env |= {"PATH": f"{BIN}{os.pathsep}{env['PATH']}", "NPU_STATE_DIR": str(folder / "state"), "HOME": str(folder), "BROWSER": "true", "LC_ALL": "C.UTF-8"}
    return subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, errors="replace", timeout=120,
                          check=False)


def commands(page: Path) -> Iterator[tuple[str, int]]:
    """(command, expected exit code) in the order they stand: lines with "$ " in console blocks, and commands in running text.

    A comment `# exit 1` behind a command states an exit code other than 0.
    """
    text = page.read_text(encoding="utf-8")
    blocks = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
    for language, body in blocks.findall(text):
        if language == "console":
            for line in body.splitlines():
                if line.startswith("$ "):
                    command, _, comment = line[2:].partition("  # ")
                    yield command.strip(), int(comment[5:]) if comment.startswith("exit ") else 0
    for inline in re.findall(r"`([^`\n]+)`", blocks.sub("", text)):
        if inline.startswith(tuple(f"{c} " for c in COMMANDS)) and "<" not in inline and "..." not in inline.replace("PROF_...", ""):
            yield inline, -1


def test_the_chinese_page_has_the_english_ones_commands() -> None:
    """Its commands are run with those of the English page."""
    chinese, english = ({c for c, _ in commands(ROOT / name)} for name in ("README.zh-CN.md", "README.md"))
    assert chinese == english


def runnable(command: str) -> str | None:
    """The command with placeholders filled in; None for those that are not to be run here."""
    if command in MENTIONS or any(left in command for left in LEFT):
        return None
    for place, real in PLACES.items():
        command = re.sub(rf"(?<![\w-]){re.escape(place)}(?![\w.])", real, command)
    return command


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if "zh-CN" not in p.name], ids=lambda p: str(p.relative_to(ROOT)))
def test_every_command_on_a_page_runs(page: Path, workspace: Path, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    shutil.copytree(workspace, folder, symlinks=True)
    wrong = []
    for written, code in commands(page):
        command = runnable(written)
        if command is None:
            continue
        done = shell(command, folder)
        # in running text a command may find a problem (exit 1); in a block it must do what the block shows
        allowed = {0, 1} if code < 0 else {code}
        if done.returncode not in allowed or "Traceback" in done.stderr:
            wrong.append(f"{command}: exit {done.returncode}\n{done.stderr[-500:]}")
    assert not wrong, "\n".join(wrong)


def test_python_snippets_run(workspace: Path, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    shutil.copytree(workspace, folder, symlinks=True)
    for page in PAGES:
        for body in re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            done = subprocess.run([sys.executable, "-c", body], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0, f"{page.name}: {done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_to_files_that_are_there(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"
