"""What can be installed on a host, as frozen records. Paths are the host's own, links followed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from npu.host.versions import Branch, Range

Cfg = Mapping[str, Mapping[str, tuple[tuple[str, str], ...]]]


@dataclass(frozen=True, slots=True)
class Driver:
    """lists_cann: CANN branches it names as fit, lists_firmware: firmware ranges. Empty: its file has no such list."""

    path: str
    version: str
    branch: Branch | None = None
    lists_cann: tuple[Range, ...] = ()
    lists_firmware: tuple[Range, ...] = ()
    package: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class Firmware:
    """An installed firmware."""

    path: str
    version: str
    package: str = ""
    lists_drivers: tuple[Range, ...] = ()
    file: str = ""


@dataclass(frozen=True, slots=True)
class Component:
    """One package of an install. requires: package -> requirement, as its version.info says."""

    name: str
    version: str
    requires: Mapping[str, str] = field(default_factory=dict)
    file: str = ""


@dataclass(frozen=True, slots=True)
class Install:
    """One CANN install. kind: toolkit | nnrt | nnae; layout: classic (up to 8.3) | cann (from 8.5 on).

    version: as people say it (8.2.RC1); inner: the package number (8.2.0.0.201). atc: the converter is there.
    kernels: (chip or "", version) of operator binaries. arch: aarch64, x86_64 or "".
    """

    kind: str
    layout: str
    path: str
    version: str
    inner: str = ""
    branch: Branch | None = None
    lists: tuple[Range, ...] = ()
    arch: str = ""
    components: tuple[Component, ...] = ()
    atc: bool = False
    kernels: tuple[tuple[str, str], ...] = ()
    file: str = ""


@dataclass(frozen=True, slots=True)
class Extra:
    """An acceleration library or engine beside CANN: atb, asdsip, mindie."""

    name: str
    version: str
    file: str


@dataclass(frozen=True, slots=True)
class Found:
    """All installs below the bases of one host. cfg: folder of a version.cfg -> its content."""

    drivers: tuple[Driver, ...] = ()
    firmware: tuple[Firmware, ...] = ()
    installs: tuple[Install, ...] = ()
    extras: tuple[Extra, ...] = ()
    cfg: Mapping[str, Cfg] = field(default_factory=dict)
    record: Mapping[str, str] | None = None  # /etc/ascend_install.info
