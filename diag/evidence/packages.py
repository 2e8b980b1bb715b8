"""Python and its packages, as pip, python and environment collectors print them."""

from __future__ import annotations

import re

from diag.seen import Seen
from npu.host.host import Host

SOURCE = "text"
PYTHON = re.compile(r"^\s*(?:Python(?: version)?:?\s+)(?P<version>3\.\d+(?:\.\d+)?)", re.MULTILINE | re.IGNORECASE)
FREEZE = re.compile(r"^\s*(?:\[pip3?\]\s+)?(?P<name>[A-Za-z][\w.-]*)==(?P<version>\d[\w.+!-]*)\s*$", re.MULTILINE)
TABLE = re.compile(
    r"^[ \t]*(?:\[conda\][ \t]+)?(?P<name>[A-Za-z][\w.-]*)[ \t]+(?P<version>\d+\.[\w.+!-]*)(?:[ \t]+\S+){0,2}[ \t]*\r?$",
    re.MULTILINE,
)
SHOWN = re.compile(r"^Name:\s*(?P<name>\S+)\s*\nVersion:\s*(?P<version>\S+)", re.MULTILINE)
LABELLED = re.compile(
    r"^(?P<name>PyTorch|torch|torch[_-]npu|vLLM Ascend|vLLM|MindSpore) [Vv]ersion:\s*v?(?P<version>\d[\w.+-]*)", re.MULTILINE
)
OURS = {"torch", "torch-npu", "vllm", "vllm-ascend", "mindspore", "numpy", "torchvision", "torchaudio", "mindie", "deepspeed"}


def python(command: str, output: str) -> Seen | None:
    """`python --version`, or the line of a collector."""
    match = PYTHON.search(output)
    return Seen(Host(SOURCE, python=match["version"])) if match else None


def installed(command: str, output: str) -> Seen | None:
    """pip freeze, pip list, pip show, and the lines of collectors. Only packages that matter here are taken."""
    patterns = [
        FREEZE,
        SHOWN,
        LABELLED,
        *([TABLE] if "pip" in command or "Package" in output[:400] or "[conda]" in output else []),
    ]
    found: dict[str, str] = {}
    for pattern in patterns:
        for match in pattern.finditer(output):
            name = match["name"].lower().replace("_", "-").replace(" ", "-").replace("pytorch", "torch")
            if name in OURS:
                found.setdefault(name, match["version"])
    return Seen(Host(SOURCE, packages=found)) if found else None
