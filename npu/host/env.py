"""The environment of a host: which install each path in it leads to, and which values its variables may have."""

from __future__ import annotations

import csv
import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from npu.host.files import Files
from npu.host.parts import Cfg, Found, Install
from npu.host.tree import CLASSIC

HOMES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_OPP_PATH", "ASCEND_AICPU_PATH")
LISTS = ("LD_LIBRARY_PATH", "PYTHONPATH")


@dataclass(frozen=True, slots=True)
class Place:
    """A path in a variable. entry counts from 1. version: of the install it leads to, "" when that is not known.

    kind: toolkit, nnrt, nnae, driver or "" for a path into no install. exists: None when there was no tree to look at.
    """

    variable: str
    entry: int
    text: str
    kind: str
    version: str
    exists: bool | None


@dataclass(frozen=True, slots=True)
class Rule:
    """Legal values of a variable: `form` of FORMS with its argument, and a default for people."""

    variable: str
    form: str
    argument: str
    default: str
    note: str


def places(env: Mapping[str, str], found: Found | None, files: Files | None) -> tuple[Place, ...]:
    """Every path of HOMES and LISTS, with the install it leads to: by the tree where there is one, else by its spelling."""
    made = []
    for variable in (*HOMES, *LISTS):
        if variable not in env:
            continue
        texts = env[variable].split(":") if variable in LISTS else [env[variable]]
        for entry, text in enumerate(texts, 1):
            if text:
                kind, version = _owner(text, found, files) if found is not None and files is not None else spelled(text)
                made.append(Place(variable, entry, text, kind, version, None if files is None else files.exists(text)))
    return tuple(made)


def spelled(path: str) -> tuple[str, str]:
    """(kind, version) as a path spells them: /x/ascend-toolkit/8.0.0/lib64 -> toolkit, 8.0.0. `latest` and `cann` name none."""
    parts = path.split("/")
    for at, part in enumerate(parts):
        if part in CLASSIC:
            inner = parts[at + 1] if at + 1 < len(parts) else ""
            return CLASSIC[part], inner if inner[:1].isdigit() else ""
        if part == "cann" or part.startswith(("cann-", "cann_")):
            return "toolkit", part[5:]
    return ("driver", "") if "/driver/lib64" in path else ("", "")


def _owner(path: str, found: Found, files: Files) -> tuple[str, str]:
    real = files.real(path)
    for install in found.installs:
        if real == install.path or real.startswith(install.path + "/"):
            return install.kind, install.version
    if any(real.startswith(d.path + "/") for d in found.drivers):
        return "driver", ""
    for folder, cfg in found.cfg.items():  # inside `latest`, where only a version.cfg says what runs
        if real == folder or real.startswith(folder + "/"):
            install_kind = CLASSIC.get(posixpath.basename(posixpath.dirname(folder)), "toolkit")
            return install_kind, running(cfg) or _linked(folder, found.installs, files)
    return spelled(path)


def running(cfg: Cfg) -> str:
    """The version a version.cfg says is running: that of the runtime, else of the first package that has one."""
    chosen = [pairs["running"][-1][1] for name, pairs in cfg.items() if name == "runtime" and pairs.get("running")]
    rest = [pairs["running"][-1][1] for pairs in cfg.values() if pairs.get("running")]
    return next(iter(chosen or rest), "")


def _linked(folder: str, installs: Iterable[Install], files: Files) -> str:
    real = files.real(f"{folder}/runtime")
    return next((i.version for i in installs if real.startswith(i.path + "/")), "")


@cache
def rules() -> dict[str, Rule]:
    """Variable -> what it may hold (data/environment.csv)."""
    text = resources.files("npu").joinpath("data/environment.csv").read_text(encoding="utf-8")
    return {
        r["variable"]: Rule(r["variable"], r["form"], r["argument"], r["default"], r["note"])
        for r in csv.DictReader(text.splitlines())
    }


def legal(rule: Rule, value: str) -> bool:
    """Whether a value is one the variable documents. An empty value counts as not set."""
    if value == "":
        return True
    if rule.form == "choice":
        return value in rule.argument.split("|")
    if rule.form == "int":
        low, _, high = rule.argument.partition("..")
        return re.fullmatch(r"\d{1,15}", value) is not None and int(low) <= int(value) <= int(high or 10**15)
    if rule.form == "match":
        return re.fullmatch(rule.argument, value) is not None
    return True


def visible(value: str) -> tuple[tuple[int, ...], str]:
    """(device ids read, the item reading stopped at or ""). Reading stops at the first item that is no id or does not ascend."""
    read: list[int] = []
    for item in value.split(","):
        if not re.fullmatch(r"[0-9]{1,4}", item) or (read and int(item) <= read[-1]):
            return tuple(read), item or ","
        read.append(int(item))
    return tuple(read), ""
