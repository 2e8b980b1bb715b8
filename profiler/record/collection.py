"""What a run was asked to collect. The launcher hands it to the recorder as one variable; the capture's meta.json keeps it, and
readers and exports look there for what is in the files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace

VARIABLE = "NPUSCOPE_COLLECTION"
LEVELS = ("off", "l0", "l1")  # of the tasks: none, times and names, with types, shapes and counters


@dataclass(frozen=True)
class Collection:
    """aic_metrics: group of counters the files show, "" the default; level: of LEVELS; aicore_shape: shapes also at l0;
    storage_limit: bytes, 0 none, beyond it the oldest rows go; delay, duration: s of the program's timeline, duration 0 to its
    end; mstx_include, mstx_exclude: comma lists of domains of marks, "" all and none; devices: ids as the machine counts them,
    () all; stacks: the whole Python stack of each call; not_simulated: what was asked for and is not modelled."""

    aic_metrics: str = ""
    level: str = "l1"
    ascendcl: bool = True
    ai_core: bool = True
    aicore_shape: bool = False
    hccl: bool = True
    task_memory: bool = True
    msproftx: bool = True
    mstx_include: str = ""
    mstx_exclude: str = ""
    sys_hardware_mem: bool = False
    sys_hardware_mem_freq: int = 50
    sys_interconnection: bool = False
    sys_interconnection_freq: int = 50
    dvpp: bool = False
    l2: bool = False
    aicpu: bool = False
    storage_limit: int = 0
    delay: int = 0
    duration: int = 0
    stacks: bool = False
    devices: tuple[int, ...] = ()
    not_simulated: tuple[str, ...] = ()

    def facts(self) -> dict[str, object]:
        """What differs from the default, by name: the form it travels in."""
        usual = asdict(Collection())
        return {name: value for name, value in asdict(self).items() if value != usual[name]}

    def variable(self) -> dict[str, str]:
        """The variable for the recorder; none where everything is as usual."""
        facts = self.facts()
        return {VARIABLE: json.dumps(facts)} if facts else {}

    def wants(self, table: str) -> bool:
        """Whether rows of a table (npu.events) are collected."""
        if table == "api":
            return self.ascendcl
        if table in ("task", "kernel"):
            return self.level != "off"
        if table == "comm":
            return self.level != "off" and self.hccl
        return True

    def window(self) -> tuple[int, int] | None:
        """Begin and end of what is collected, ns of the timeline; None for all of it."""
        if not self.delay and not self.duration:
            return None
        begin = self.delay * 1_000_000_000
        return begin, begin + self.duration * 1_000_000_000 if self.duration else 1 << 62


def of(facts: object) -> Collection:
    """The collection that such facts tell; what is unknown or of another kind is passed over: files come from anywhere."""
    if not isinstance(facts, Mapping):
        return Collection()
    made = Collection()
    for field in fields(Collection):
        value, usual = facts.get(field.name), getattr(made, field.name)
        if isinstance(usual, tuple) and isinstance(value, list | tuple):
            value = tuple(value)
        if isinstance(value, type(usual)):
            made = replace(made, **{field.name: value})
    return made


def asked(environ: Mapping[str, str]) -> Collection:
    """What the launcher's variable asks for; the default without one or with one that is no JSON."""
    try:
        return of(json.loads(environ.get(VARIABLE, "{}")))
    except ValueError:
        return Collection()
