"""Which simulated hosts can be made: the known releases (data/host_versions.csv) and the presets by name."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from npu.host.versions import newer

LAYOUTS = ("classic", "cann")
FLAT_SINCE = "8.5.0"  # releases from here on have the layout of cann-<version>


@dataclass(frozen=True, slots=True)
class Release:
    """One row of host_versions.csv: a CANN or a driver. firmware: of a driver."""

    version: str
    inner: str
    branch: str
    lists: str
    firmware: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """A host to make. canns: installs, the first is in force; driver None: none. kind: toolkit | nnrt."""

    canns: tuple[str, ...]
    driver: str | None
    kind: str = "toolkit"
    container: bool = False
    first_library: str = ""  # the install LD_LIBRARY_PATH begins with, "" = the one in force
    arch: str = "aarch64"


# preset -> what it is like, by layout
PRESETS: dict[str, dict[str, Wanted]] = {
    "development": {"classic": Wanted(("8.3.RC1",), "25.5.0"), "cann": Wanted(("8.5.0",), "25.5.1")},
    "production": {"classic": Wanted(("8.3.RC1",), "25.5.0", "nnrt"), "cann": Wanted(("8.5.0",), "25.5.1", "nnrt")},
    "container": {"classic": Wanted(("8.3.RC1",), "25.5.0", container=True),
                  "cann": Wanted(("8.5.0",), "25.5.1", container=True)},
    "no-driver": {"classic": Wanted(("8.3.RC1",), None), "cann": Wanted(("8.5.0",), None)},
    "mixed": {"classic": Wanted(("8.3.RC1", "8.0.0"), "25.5.0", first_library="8.0.0"),
              "cann": Wanted(("9.0.0", "8.5.0"), "25.5.1", first_library="8.5.0")},
    "toolkit-newer": {"classic": Wanted(("8.3.RC1",), "22.0.4"), "cann": Wanted(("9.0.0",), "23.0.3")},
    "old-driver": {"classic": Wanted(("8.3.RC1",), "23.0.7"), "cann": Wanted(("8.5.0",), "23.0.7")},
}  # fmt: skip


class CannotMake(Exception):
    """A host that cannot be made: what is wrong, what to do."""

    def __init__(self, what: str, next: str) -> None:
        super().__init__(what)
        self.what, self.next = what, next


@cache
def releases(kind: str) -> dict[str, Release]:
    """Known releases of "cann" or "driver", by version in lower case."""
    text = resources.files("npu").joinpath("data/host_versions.csv").read_text(encoding="utf-8")
    return {
        r["version"].lower(): Release(r["version"], r["inner"], r["branch"], r["lists"], r["firmware"])
        for r in csv.DictReader(text.splitlines())
        if r["kind"] == kind
    }


def wanted(preset: str, layout: str, cann: str = "", driver: str = "") -> Wanted:
    """A preset with other versions put in. CannotMake names an unknown preset, layout or version."""
    if preset not in PRESETS:
        raise CannotMake(f"no preset {preset!r}", f"choose one of {', '.join(PRESETS)}")
    if layout not in LAYOUTS:
        raise CannotMake(f"no layout {layout!r}", f"choose one of {', '.join(LAYOUTS)}")
    made = PRESETS[preset][layout]
    if cann:
        made = replace(made, canns=(release("cann", cann).version, *made.canns[1:]))
    if driver:
        made = replace(made, driver=None if driver == "none" else release("driver", driver).version)
    if any(newer(FLAT_SINCE, c) is (layout == "cann") for c in made.canns):
        other = LAYOUTS[1 - LAYOUTS.index(layout)]
        raise CannotMake(f"CANN {made.canns[0]} never had the layout {layout}", f"take --layout {other}")
    return made


def release(kind: str, version: str) -> Release:
    """A known release of a product. CannotMake where the table has none of that version."""
    known = releases(kind)
    if version.lower() not in known:
        name = "CANN" if kind == "cann" else kind
        raise CannotMake(f"{name} {version} is not known here", f"known are {', '.join(r.version for r in known.values())}")
    return known[version.lower()]
