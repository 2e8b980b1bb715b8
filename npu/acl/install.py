"""Fill the importable module `acl` and its submodules from the table. Called by the shim of that name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from npu.acl import (
    base,
    blas,
    mdl,
    mdl_aipp,
    mdl_dataset,
    mdl_desc,
    mdl_dump,
    media,
    media_codec,
    media_desc,
    media_vpc,
    op,
    prof,
    prof_marks,
    prof_operators,
    rt_allocator,
    rt_callback,
    rt_copy,
    rt_device,
    rt_event,
    rt_memory,
    rt_shared,
    rt_stream,
    rt_system,
    tensor,
    util,
)
from npu.acl.table import build, refusal, table

MODULES: tuple[ModuleType, ...] = (
    base, tensor, util, rt_device, rt_system, rt_memory, rt_copy, rt_allocator, rt_shared, rt_stream, rt_event, rt_callback,
    mdl, mdl_dataset, mdl_desc, mdl_aipp, mdl_dump, op, blas, prof, prof_marks, prof_operators,
    media, media_desc, media_vpc, media_codec,
)  # fmt: skip


def bodies() -> dict[str, Callable[..., Any]]:
    """What stands behind each function of the table, by its name there. A module names its functions in __all__; what it makes
    from a list of fields stands in FIELDS."""
    made: dict[str, Callable[..., Any]] = {}
    for module in MODULES:
        found = {name: getattr(module, name) for name in module.__all__} | getattr(module, "FIELDS", {})
        made |= {f"{module.GROUP}.{name}".lstrip("."): body for name, body in found.items()}
    return made


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
        setattr(where, leaf, build(function, refusal(function) if function.refused else known[function.name]))
    top.__path__ = []  # so that `import acl.rt` looks into sys.modules
