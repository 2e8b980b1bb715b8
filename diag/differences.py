"""What differs between hosts: every fact of each as one line of text, compared name by name."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from diag.checks import facts
from diag.seen import Seen
from npu.host.limits import UNLIMITED
from npu.units import size

# Variables that differ from shell to shell without meaning anything here.
PERSONAL = {"HOME", "PATH", "PWD", "RANK", "LOCAL_RANK"}
NOT_THERE = "-"


@dataclass(frozen=True, slots=True)
class Difference:
    """values: one a host, None where the evidence does not tell. odd: hosts (by place) that stand alone against a majority."""

    item: str
    values: tuple[str | None, ...]
    odd: tuple[int, ...]


def compare(hosts: list[Seen]) -> list[Difference]:
    """Items that at least two hosts tell and that are not the same everywhere, in the order of the first host that has them."""
    tables = [table(seen) for seen in hosts]
    covers = [topics(seen) for seen in hosts]
    found = []
    for item in dict.fromkeys(name for one in tables for name in one):
        topic = item.partition(" ")[0]
        values = tuple(one.get(item, NOT_THERE if topic in cover else None) for one, cover in zip(tables, covers, strict=True))
        told = [v for v in values if v is not None]
        if len(told) > 1 and len(set(told)) > 1 and not _of_another_install(item, tables):
            found.append(Difference(item, values, _odd(values)))
    return found


def _of_another_install(item: str, tables: list[dict[str, str]]) -> bool:
    """A package of a CANN that some hosts lack as a whole: the CANN itself is the difference."""
    if not item.startswith("cann package "):
        return False
    version = item.removeprefix("cann package ").partition("/")[0]
    return all(item in t or not any(k.startswith("cann ") and k.endswith(f" {version}") for k in t) for t in tables)


def _odd(values: tuple[str | None, ...]) -> tuple[int, ...]:
    counts = Counter(v for v in values if v is not None)
    common, most = counts.most_common(1)[0]
    if most * 2 <= sum(counts.values()):
        return ()
    return tuple(n for n, v in enumerate(values) if v is not None and v != common)


def topics(seen: Seen) -> set[str]:
    """First words of the items this evidence tells something of, so that "not there" and "not known" stay two things."""
    host = seen.host
    known = {
        "driver": host.found is not None and host.simulated is not None,
        "firmware": host.found is not None and host.simulated is not None,
        "cann": host.found is not None,
        "env": host.env is not None,
        "python": host.python is not None,
        "package": bool(host.packages),
        "library": host.libraries is not None,
        "node": host.nodes is not None,
        "device": seen.smi is not None and bool(seen.smi.devices),
    }
    return {name for name, yes in known.items() if yes}


def table(seen: Seen) -> dict[str, str]:
    """Item -> value, in the order people look at them."""
    host, made = seen.host, {}
    driver, install = facts.driver(seen), facts.active(seen)
    if driver is not None:
        made["driver version"] = driver.version
    if host.found is not None and host.found.firmware:
        made["firmware version"] = host.found.firmware[0].version
    if install is not None:
        made["cann in force"] = f"{install.version} ({install.kind})"
    for one in host.found.installs if host.found is not None else ():
        made[f"cann {one.kind} {one.version}"] = one.path
        made |= {f"cann package {one.version}/{c.name}": c.version for c in one.components}
    made |= {f"library {lib.name}": lib.owner or lib.folder for lib in host.libraries or ()}
    made |= {f"env {name}": value for name, value in (host.env or {}).items() if name not in PERSONAL}
    if host.python is not None:
        made["python version"] = host.python
    made |= {f"package {name}": version for name, version in sorted((host.packages or {}).items())}
    made |= {f"node /dev/{n.name}": f"{n.owner}:{n.group} {n.mode}".strip(": ") or "there" for n in host.nodes or ()}
    if host.limits is not None:
        named = {"limit files": host.limits.files, "limit processes": host.limits.processes}
        made |= {name: "unlimited" if n == UNLIMITED else str(n) for name, n in named.items() if n is not None}
        if host.limits.shm is not None:
            made["limit /dev/shm"] = size(host.limits.shm)
    for device in seen.smi.devices if seen.smi is not None else ():
        pool = device.memory
        total = f", {pool.total} MB" if pool is not None else ""
        made[f"device {device.card}/{device.chip}"] = f"{device.name}, {device.health or '?'}{total}"
    return made
