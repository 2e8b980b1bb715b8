"""One host as one frozen record: what was found, and what could not be read. None = nobody looked; empty = nothing there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from npu.host.access import Account, Node
from npu.host.env import Place
from npu.host.libs import Library
from npu.host.limits import Limits
from npu.host.parts import Found


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model somebody wants to run here: its chip and the CANN that made it ("" = not told)."""

    path: str
    soc: str
    cann: str


@dataclass(frozen=True, slots=True)
class Host:
    """source: where the facts come from. simulated: a host folder of ours (None = not known).

    container: whether it is one. cpus: those this process may run on.
    """

    source: str
    simulated: bool | None = None
    found: Found | None = None
    env: Mapping[str, str] | None = None
    places: tuple[Place, ...] | None = None
    libraries: tuple[Library, ...] | None = None
    nodes: tuple[Node, ...] | None = None
    account: Account | None = None
    limits: Limits | None = None
    python: str | None = None
    packages: Mapping[str, str] | None = None
    container: bool | None = None
    cpus: tuple[int, ...] | None = None
    models: tuple[ModelFile, ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()


def merge(hosts: Iterable[Host], source: str) -> Host:
    """Several looks at one host as one: the first that knows a thing tells it; tables of names are joined."""
    looks = list(hosts)
    values: dict[str, object] = {}
    for field in fields(Host):
        known = [v for v in (getattr(h, field.name) for h in looks) if v is not None]
        if field.name in ("models", "unreadable"):
            values[field.name] = tuple(item for part in known for item in part)
        elif field.name in ("env", "packages"):
            values[field.name] = {k: v for part in reversed(known) for k, v in part.items()} if known else None
        elif field.name == "nodes" and known:
            values[field.name] = tuple({n.name: n for part in reversed(known) for n in part}.values())
        elif field.name == "limits" and known:
            values[field.name] = Limits(
                *(next((x for p in known if (x := getattr(p, f.name)) is not None), None) for f in fields(Limits))
            )
        elif field.name == "found" and known:
            values[field.name] = _joined(known)
        else:
            values[field.name] = known[0] if known else None
    values["source"] = source
    return Host(**values)  # type: ignore[arg-type]


def _joined(parts: list[Found]) -> Found:
    cfg = {k: v for part in reversed(parts) for k, v in part.cfg.items()}
    return Found(
        next((p.drivers for p in parts if p.drivers), ()),
        next((p.firmware for p in parts if p.firmware), ()),
        tuple({(i.path, i.version): i for p in reversed(parts) for i in p.installs}.values()),
        tuple(e for p in parts for e in p.extras),
        cfg,
        next((p.record for p in parts if p.record is not None), None),
    )
