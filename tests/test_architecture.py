"""The walls of the house: who may import whom, how long a file may be, and what a command may load at its start.

The tables below are the rule. A new part gets its row here before its first import.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("npu", "profiler", "diag", "cli")

# Importable by all; among themselves only downwards: each imports at most what stands before it.
VOCABULARY = ("npu.units", "npu.dtypes", "npu.soc", "npu.errors", "npu.events", "npu.patterns", "npu.cost", "npu.power", "npu.aipp")
# The same for the parts of the profiler, and for diag where the table below says so.
PROFILER_VOCABULARY = ("profiler.trace", "profiler.findings", "profiler.intervals", "profiler.samples", "profiler.texts")

# part -> what it may import besides itself, the standard library, other distributions and VOCABULARY
DIRECTION: dict[str, tuple[str, ...]] = {
    "npu.device": (),
    "npu.driver": ("npu.device",),
    # arithmetic opens the model file it runs
    "npu.ops": ("npu.om",),
    "npu.tbe": (),
    "npu.hccl": (),
    # what is unordered: knows lanes and blocks, no stream and no clock
    "npu.hazards": (),
    "npu.om": (),
    "npu.host": (),
    "npu.plog": (),
    "npu.smi": ("npu.driver",),
    # Of the device the runtime sees the records it hands through the door, never the engines or the clock.
    "npu.runtime": (
        "npu.driver",
        "npu.device.task",
        "npu.device.memory",
        "npu.ops",
        "npu.hccl",
        "npu.hazards",
        "npu.om",
        "npu.host",
        "npu.plog",
    ),
    "npu.graph": ("npu.ops", "npu.om", "npu.tbe"),
    "npu.acl": ("npu.runtime", "npu.hccl"),
    "npu.session": ("npu.driver.machine", "npu.graph", "npu.om"),
    "npu.torch_npu": ("npu.runtime", "npu.device.task", "npu.device.memory", "npu.ops", "npu.om", "npu.graph"),
    "npu.shim": ("npu.acl", "npu.runtime", "npu.hccl", "npu.torch_npu"),
    "npu.__main__": ("npu.shim",),
    "profiler.trace": ("profiler.findings",),
    "profiler.findings": (),
    "profiler.intervals": (),
    "profiler.samples": ("profiler.trace",),
    "profiler.texts": ("profiler.findings",),
    "profiler.record": PROFILER_VOCABULARY,
    "profiler.read": PROFILER_VOCABULARY,
    "profiler.analysis": PROFILER_VOCABULARY,
    "profiler.export": PROFILER_VOCABULARY,
    # many ranks: each is read and judged in a worker, so both sides meet here
    "profiler.ranks": (*PROFILER_VOCABULARY, "profiler.read", "profiler.analysis"),
    "profiler.report": PROFILER_VOCABULARY,
    # what is wrong with files, and files made of files: both read them raw
    "profiler.check": (*PROFILER_VOCABULARY, "profiler.read"),
    "profiler.convert": (*PROFILER_VOCABULARY, "profiler.read", "profiler.export"),
    "diag": ("npu.host", "npu.om", "profiler.findings", "profiler.texts"),
    "cli": PACKAGES,
}
# The doors of two packages: `profiler.open` and `profiler.analyze`; `npu` itself holds nothing.
FACADES: dict[str, tuple[str, ...]] = {"profiler": ("profiler",), "npu": ()}

WARN_LINES, MOST_LINES = 400, 600

HEAVY = {"numpy", "onnx", "onnx_ir", "onnxruntime", "plotly", "torch"}


class Import(NamedTuple):
    importer: str
    imported: str
    line: int


def modules() -> Iterator[tuple[str, Path]]:
    """(module name, file) of every module of the packages."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


MODULES = dict(modules())


def imports_of(name: str, path: Path) -> Iterator[Import]:
    """Every import of ours in a module, wherever it stands: also inside functions and under TYPE_CHECKING."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), path)):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            targets = [f"{base}.{a.name}" if f"{base}.{a.name}" in MODULES else base for a in node.names]
        else:
            continue
        yield from (Import(name, target, node.lineno) for target in targets if target.split(".")[0] in PACKAGES)


def inside(module: str, part: str) -> bool:
    return module == part or module.startswith(part + ".")


def part_of(module: str) -> str | None:
    """The row of the tables a module belongs to."""
    if module in FACADES:
        return module
    return next((p for p in (*VOCABULARY, *DIRECTION) if inside(module, p)), None)


def allowed(importer: str, imported: str) -> bool:
    part = part_of(importer)
    if part is None:
        return False
    if part in VOCABULARY:
        return any(inside(imported, p) for p in VOCABULARY[: VOCABULARY.index(part) + 1])
    if any(inside(imported, p) for p in (part, *VOCABULARY)) and imported not in FACADES:
        return True
    within = FACADES[part] if part in FACADES else DIRECTION[part]
    return any(inside(imported, p) for p in within)


def is_shown_to_scripts(module: str) -> bool:
    """The importable names for unmodified scripts (acl, hccl ...): their folder is a place on the path, not a package of ours."""
    return inside(module, "npu.shim.onpath")


@pytest.mark.parametrize("module", [m for m in MODULES if not is_shown_to_scripts(m)])
def test_every_module_belongs_to_a_part(module: str) -> None:
    assert part_of(module) is not None, f"{module}: give it a row in DIRECTION"


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_go_in_one_direction(package: str) -> None:
    wrong = [
        f"{MODULES[found.importer].relative_to(ROOT)}:{found.line}: {part_of(found.importer)} must not import {found.imported}"
        for module, path in MODULES.items()
        if inside(module, package)
        for found in imports_of(module, path)
        if not allowed(found.importer, found.imported)
    ]
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize(("importer", "imported", "expected"), [
    ("npu.soc", "npu.units", True), ("npu.units", "npu.soc", False), ("npu.cost.matmul", "npu.soc", True),
    ("npu.driver.door", "npu.device.task", True), ("npu.device.task", "npu.driver.door", False),
    ("npu.runtime.stream", "profiler.record", False),
    ("npu.runtime.stream", "npu.device.task", True), ("npu.runtime.stream", "npu.device.scheduler", False),
    ("npu.device.engine", "npu.events", True),
    ("profiler.report.html", "profiler.findings", True), ("profiler.report.html", "profiler.analysis", False),
    ("profiler.read.own", "profiler.read.fields", True), ("profiler.read.own", "profiler", False),
    ("profiler.trace", "npu.runtime", False), ("profiler.analysis", "npu.cost", True), ("profiler", "profiler.read", True),
    ("diag.error_code", "npu.errors", True), ("diag.check", "profiler.trace", False), ("diag.check", "npu.runtime", False),
    ("cli.common", "npu.runtime", True), ("cli.common", "profiler", True), ("diag.check", "cli.common", False),
    ("npu.new_part", "npu.units", False),
])  # fmt: skip
def test_the_rule_itself(importer: str, imported: str, expected: bool) -> None:
    assert allowed(importer, imported) is expected


def test_all_forms_of_import_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "made.py"
    path.write_text(
        "import npu.soc as s, json\nfrom npu import units\nfrom npu.cost.work import Work\n"
        "from . import door\nfrom ..device import task\n"
        "if 1:\n    from cli import common\ndef f():\n    import profiler.trace\n"
    )
    seen = [(i.imported, i.line) for i in imports_of("npu.driver.made", path)]
    assert sorted(seen, key=lambda s: s[1]) == [
        ("npu.soc", 1), ("npu.units", 2), ("npu.cost.work", 3), ("npu.driver.door", 4), ("npu.device.task", 5),
        ("cli.common", 7), ("profiler.trace", 9),
    ]  # fmt: skip


@pytest.mark.parametrize("package", ["npu", "profiler", "diag"])
def test_bans_of_the_linter_agree_with_the_table(package: str) -> None:
    def bans(settings: dict[str, Any]) -> dict[str, Any]:
        return settings["lint"]["flake8-tidy-imports"]["banned-api"]

    everywhere = bans(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"])
    here = bans(tomllib.loads((ROOT / package / "ruff.toml").read_text(encoding="utf-8")))
    assert everywhere.items() <= here.items()
    parts = [part for part in DIRECTION if inside(part, package)]
    for banned in here.keys() - everywhere.keys():
        assert not any(allowed(part, banned) for part in parts), banned


def test_files_stay_short() -> None:
    lengths = {
        path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines())
        for folder in (*PACKAGES, "tests")
        for path in (ROOT / folder).rglob("*.py")
    }
    for path, lines in lengths.items():
        if WARN_LINES < lines <= MOST_LINES:
            warnings.warn(
                f"{path} has {lines} lines: over {WARN_LINES} needs a reason, say it in the file or split it", stacklevel=1
            )
    assert {str(path): lines for path, lines in lengths.items() if lines > MOST_LINES} == {}


def scripts() -> dict[str, str]:
    """Installed command -> module of its entry point."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {name: entry.partition(":")[0] for name, entry in project["scripts"].items()}


def start_lines() -> list[tuple[str, ...]]:
    """Command lines that must start light: named ones, --help of every command and of every verb."""
    lines: list[tuple[str, ...]] = [
        ("npu-smi", "info"),
        ("npu-diag", "error", "507018"),
        ("npu-diag", "error", "507018", "--json"),
    ]
    for name, module in scripts().items():
        lines.append((name, "--help"))
        if name != "npuscope":  # the umbrella's verbs are the others'
            lines += [(name, verb, "--help") for verb in getattr(import_module(module), "VERBS", {})]
    return lines


def loaded(arguments: tuple[str, ...], folder: Path, **environ: str) -> tuple[set[str], subprocess.CompletedProcess[str]]:
    """Top-level packages a command imported, and how it ended."""
    command = Path(sys.executable).with_name(arguments[0])
    env = {**os.environ, "NPU_STATE_DIR": str(folder), **environ}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", command, *arguments[1:]], capture_output=True, text=True, env=env, cwd=folder
    )
    times = (line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:"))
    return {name.partition(".")[0] for name in times}, done


@pytest.mark.parametrize("arguments", start_lines(), ids=" ".join)
def test_commands_start_light(arguments: tuple[str, ...], tmp_path: Path) -> None:
    packages, done = loaded(arguments, tmp_path)
    assert "cli" in packages, done.stderr[-1000:]
    assert packages & HEAVY == set()
    assert "Traceback" not in done.stderr and "internal error" not in done.stderr, done.stderr[-1000:]


def test_completion_starts_light(tmp_path: Path) -> None:
    packages, done = loaded(("npu-diag",), tmp_path, _NPU_DIAG_COMPLETE="complete_bash", COMP_WORDS="npu-diag er", COMP_CWORD="1")
    assert done.stdout.split() == ["error"]
    assert packages & HEAVY == set()


def test_native_forms_need_no_command_library(tmp_path: Path) -> None:
    packages, _ = loaded(("npu-smi", "info"), tmp_path)
    assert packages & {"typer", "rich", "click"} == set()
