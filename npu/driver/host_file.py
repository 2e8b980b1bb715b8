"""Which simulated host this machine is, and what the machine file in its folder says.

NPU_HOST names a host (a folder among the made ones) or is a path; without it the file `default` among them names one. The
folder is made elsewhere; here only its machine.json is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MACHINE, DEFAULT = "machine.json", "default"
RECORD, IN_DOCKER, ENDED = "etc/ascend_install.info", ".dockerenv", "Driver_Install_Status=complete"


@dataclass(frozen=True, slots=True)
class Facts:
    """devices None: the usual number of the chip. driver None: no driver. toolkit None: runtime only."""

    soc: str
    devices: int | None
    driver: str | None
    firmware: str
    cann: str
    toolkit: str | None
    driver_fits: bool


def hosts_folder(environ: Mapping[str, str]) -> Path | None:
    """Where made hosts lie: NPU_STATE_DIR/hosts, else ~/.cache/npuscope/hosts; None without either variable."""
    state, home = environ.get("NPU_STATE_DIR", ""), environ.get("HOME", "")
    if state:
        return Path(state) / "hosts"
    return Path(home) / ".cache" / "npuscope" / "hosts" if home else None


def host_folder(environ: Mapping[str, str]) -> Path | None:
    """The folder of the host in use, None for the built-in machine. ValueError when a host is named that is not there."""
    folder = hosts_folder(environ)
    name = environ.get("NPU_HOST", "")
    said = f"NPU_HOST={name}"
    if not name and folder is not None:
        try:
            name = (folder / DEFAULT).read_text(encoding="utf-8").strip()
        except (FileNotFoundError, NotADirectoryError):  # a state folder that is a file is told by the table that wants it
            return None
        said = f"the default host {name}"
    if not name:
        return None
    path = Path(name) if "/" in name or folder is None else folder / name
    if not (path / MACHINE).is_file():
        raise ValueError(f"{said}: no such host ({path / MACHINE} is not there)")
    return path


def install_ended(environ: Mapping[str, str]) -> bool:
    """Whether the install record of the host in use says that the driver's install ended; what the device tool looks at, outside
    of docker only. The built-in machine's always did."""
    folder = host_folder(environ)
    if folder is None or (folder / IN_DOCKER).exists():
        return True
    try:
        return ENDED in (folder / RECORD).read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        return False


def facts_of(environ: Mapping[str, str]) -> Facts | None:
    """What the host in use says of the machine, None for the built-in one. ValueError when its file cannot be used."""
    folder = host_folder(environ)
    if folder is None:
        return None
    path = folder / MACHINE
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        driver, toolkit = read["driver_version"], read["toolkit_version"]
        return Facts(str(read["soc"]), int(read["device_count"]), None if driver is None else str(driver),
                     str(read["firmware_version"]), str(read["cann_version"]), None if toolkit is None else str(toolkit),
                     bool(read["driver_fits"]))  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} cannot be used: {type(error).__name__} {error}; make the host again") from error
