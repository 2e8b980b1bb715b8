"""Reads a host: a folder tree (simulated, or copied from elsewhere) or this very machine."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from npu.host import access, limits
from npu.host.env import places
from npu.host.files import Files
from npu.host.host import Host, ModelFile
from npu.host.libs import effective
from npu.host.parts import Found
from npu.host.tree import RECORD, ROOT_BASE, find

ENV_FILE = "env.txt"
CONTAINER_SIGNS = ("/.dockerenv", "/run/.containerenv")


def is_tree(folder: Path) -> bool:
    """Whether a folder is the root of a host: it has installs, an install record, or was made by us."""
    return any((folder / p.lstrip("/")).exists() for p in (ROOT_BASE, RECORD, "machine.json"))


def tree(folder: Path, env: Mapping[str, str] | None) -> Host:
    """A host from the files below a folder and the environment a shell on it has (None: not known)."""
    files = Files(folder)
    found = find(files, env)
    nodes = tuple(access.Node(n) for n in files.names("/dev") if access.DEVICE.fullmatch(n) or n in access.NODES)
    return Host(
        str(folder),
        (folder / "machine.json").exists(),
        found,
        env,
        None if env is None else places(env, found, files),
        None if env is None else effective(env.get("LD_LIBRARY_PATH", ""), found, files),
        nodes if files.folder("/dev") else None,
        container=True if _container(files) else None,
        models=_models(files),
        unreadable=tuple(files.unreadable),
    )


def here(env: Mapping[str, str] | None = None) -> Host:
    """This machine, as this process sees it."""
    files = Files()
    environ = dict(os.environ if env is None else env)
    found = find(files, environ)
    return Host(
        "this host",
        False,
        found,
        environ,
        places(environ, found, files),
        effective(environ.get("LD_LIBRARY_PATH", ""), found, files),
        access.nodes_here(),
        access.account_here(),
        limits.here(),
        container=_container(files),
        cpus=tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else None,
        unreadable=tuple(files.unreadable),
    )


def env_of(text: str) -> dict[str, str]:
    """KEY=VALUE lines of a shell's environment; `export ` and quotes around a value are taken off."""
    made = {}
    for line in text.splitlines():
        name, sign, value = line.strip().removeprefix("export ").removeprefix("declare -x ").partition("=")
        if sign and name.isidentifier():
            bare = value.strip()
            quoted = len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'"
            made[name] = bare[1:-1] if quoted else bare
    return made


def _container(files: Files) -> bool:
    if any(files.exists(sign) for sign in CONTAINER_SIGNS):
        return True
    return any(word in (files.read("/proc/1/cgroup") or "") for word in ("docker", "kubepods", "containerd", "libpod"))


def _models(files: Files) -> tuple[ModelFile, ...]:
    """What notes beside an application say of its model."""
    texts = ((f"/app/{n}", files.read(f"/app/{n}")) for n in files.names("/app") if n.endswith(".json"))
    return tuple(m for path, text in texts if (m := model_of(text or "", path)) is not None)


def model_of(text: str, path: str) -> ModelFile | None:
    """A model from a JSON note with soc_version and converted_with_cann; None when the text is no such note."""
    try:
        facts = json.loads(text)
    except ValueError:
        return None
    if not isinstance(facts, dict) or not {"soc_version", "converted_with_cann"} & set(facts):
        return None
    return ModelFile(str(facts.get("file", path)), str(facts.get("soc_version", "")), str(facts.get("converted_with_cann", "")))


def driver_and_runtime(host: Host) -> tuple[str, str]:
    """(driver, version of the runtime a program would load); "" for what is not there."""
    found = host.found or Found()
    driver = found.drivers[0].version if found.drivers else ""
    loaded = next((lib.owner for lib in host.libraries or () if lib.name == "libascendcl.so"), "")
    return driver, loaded.rpartition(" ")[2]
