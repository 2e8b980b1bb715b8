"""What several checks ask of the evidence: the versions in force, from whichever source tells them."""

from __future__ import annotations

from diag.seen import Seen
from npu.host.env import Place, spelled
from npu.host.libs import RUNTIME
from npu.host.parts import Driver, Install
from npu.host.tree import newest


def driver(seen: Seen) -> Driver | None:
    """The driver: of its file, else of the device tool's banner."""
    if seen.host.found is not None and seen.host.found.drivers:
        return seen.host.found.drivers[0]
    if seen.smi is not None and seen.smi.driver:
        return Driver("", seen.smi.driver, file="npu-smi info")
    return None


def active(seen: Seen) -> Install | None:
    """The CANN in force: the one the environment leads to, else the newest installed; from texts a version alone."""
    installs = seen.host.found.installs if seen.host.found is not None else ()
    places = seen.host.places or ()
    homes = [p for p in places if p.variable == "ASCEND_HOME_PATH" and p.kind and p.version]
    loaded = [p for p in places if p.variable == "LD_LIBRARY_PATH" and p.kind not in ("", "driver") and p.version]
    for place in (*homes, *loaded):
        known = next((i for i in installs if i.version == place.version and i.kind == place.kind), None)
        return known or Install(place.kind, "", place.text, place.version, file=place.variable)
    if installs:
        return newest(installs)
    return None


def loaded_runtime(seen: Seen) -> str:
    """Version of the runtime a program would load, "" when that is not known."""
    owner = next((lib.owner for lib in seen.host.libraries or () if lib.name == RUNTIME), "")
    version = owner.rpartition(" ")[2] if owner else ""
    if version and version[:1].isdigit():
        return version
    install = active(seen)
    return install.version if install is not None else ""


def homes(seen: Seen) -> list[Place]:
    """The variables that name an install."""
    return [p for p in seen.host.places or () if p.variable not in ("LD_LIBRARY_PATH", "PYTHONPATH")]


def chip(seen: Seen) -> str:
    """soc_version of the first device the device tool shows, "" when it is not told."""
    for device in seen.smi.devices if seen.smi is not None else ():
        name = device.name
        if name and name != "Ascend910":  # cards of two dies show only that; their board query tells the rest
            return name if name.startswith("Ascend") else f"Ascend{name}"
    return ""


def names_an_install(path: str) -> bool:
    """Whether a path names an install of CANN."""
    return spelled(path)[0] not in ("", "driver")
