"""Fill the importable module `acl` and its submodules from the table. Called by the shim of that name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from npu.acl import base, mdl, rt_device, rt_memory, rt_stream, util
from npu.acl.table import build, table

MODULES = (base, util, rt_device, rt_memory, rt_stream, mdl)


def bodies() -> dict[str, Callable[..., Any]]:
    """What stands behind each function of the table, by its name there."""
    return {f"{m.GROUP}.{name}".lstrip("."): getattr(m, name) for m in MODULES for name in m.__all__}


def install(name: str) -> None:
    """Put every function of the table on the module of that name; submodules are registered as acl.rt, acl.mdl ..."""
    top = sys.modules[name]
    known = bodies()
    for function in table():
        group, _, leaf = function.name.rpartition(".")
        where = top
        if group:
            path = f"{name}.{group}"
            if path not in sys.modules:
                sys.modules[path] = ModuleType(path)
                setattr(top, group, sys.modules[path])
            where = sys.modules[path]
        setattr(where, leaf, build(function, known[function.name]))
    top.__path__ = []  # so that `import acl.rt` looks into sys.modules
