"""All that is known of a host when the checks run: the host record, what the device tool said, what the loader said."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from diag.smi.records import SmiText
from npu.host.host import Host, merge


@dataclass(frozen=True, slots=True)
class Loading:
    """A library that could not be loaded. kind: absent | symbol | version | stub; what: the library or the symbol;
    by: the file that needs it, "" when it was not told."""

    kind: str
    what: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class Started:
    """How a container was started: devices and paths handed in, as written."""

    devices: tuple[str, ...]
    mounts: tuple[str, ...]
    privileged: bool
    runtime: bool  # the Ascend container runtime hands everything in by itself
    shm: str = ""


@dataclass(frozen=True, slots=True)
class Port:
    """What hccn_tool says of an NPU's network port; "" and 0 for what this answer does not tell. device: None where the text
    has no number. tls: 0 or 1. peer, sent, back: an address that was pinged, packets sent and answered."""

    device: int | None
    link: str = ""
    health: str = ""
    tls: str = ""
    peer: str = ""
    sent: int = 0
    back: int = 0


@dataclass(frozen=True, slots=True)
class SlowLink:
    """A card whose PCIe link trained below what it can: GT/s and lanes now and at most."""

    address: str
    speed: float
    width: int
    most_speed: float
    most_width: int


@dataclass(frozen=True, slots=True)
class Probed:
    """The articles' minimal program: the steps it passed, and the one that failed with its code and message."""

    passed: tuple[str, ...]
    failed: str = ""
    code: int | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """host: merged facts. smi: what the device tool answered. started: how the container was started. logs: files left to `log`.

    fell_off: PCI addresses of cards whose configuration space cannot be read. unresolved: uids without an entry in
    /etc/passwd. app: path of an application that was looked into.
    """

    host: Host
    smi: SmiText | None = None
    loading: tuple[Loading, ...] = ()
    started: Started | None = None
    fell_off: tuple[str, ...] = ()
    unresolved: tuple[int, ...] = ()
    modules: bool | None = None  # driver modules loaded, by lsmod; None = not known
    probed: Probed | None = None
    app: str = ""
    logs: tuple[str, ...] = ()
    ports: tuple[Port, ...] = ()
    slow_links: tuple[SlowLink, ...] = ()
    full_disks: tuple[str, ...] = ()  # where file systems are mounted that have no room left


def together(parts: Iterable[Seen], source: str) -> Seen:
    """Several pieces of evidence of one host as one."""
    looks = list(parts)
    if not looks:
        return Seen(Host(source))
    tables = [s.smi for s in looks if s.smi is not None]
    smi = next((t for t in tables if t.devices or t.error is not None), tables[0] if tables else None)
    topology = next((t.topology for t in tables if t.topology is not None), None)
    if smi is not None and topology is not None:
        smi = replace(smi, topology=topology)
    return Seen(
        merge([s.host for s in looks], source), smi, tuple(dict.fromkeys(item for s in looks for item in s.loading)),
        next((s.started for s in looks if s.started is not None), None), tuple(a for s in looks for a in s.fell_off),
        tuple(dict.fromkeys(u for s in looks for u in s.unresolved)),
        next((s.modules for s in looks if s.modules is not None), None),
        next((s.probed for s in looks if s.probed is not None), None), next((s.app for s in looks if s.app), ""),
        tuple(path for s in looks for path in s.logs), tuple(port for s in looks for port in s.ports),
        tuple(link for s in looks for link in s.slow_links), tuple(dict.fromkeys(d for s in looks for d in s.full_disks)),
    )  # fmt: skip
