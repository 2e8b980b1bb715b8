"""Which table plain `info` draws: by chip family and driver generation. A layout is a row here and a writer in its own file."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from npu.driver.door import Snapshot
from npu.smi import ddr, hbm, id_cells, place
from npu.smi.failures import INCOMPLETE_DRIVER

Version = tuple[int, int, int]
VERSION = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?")

class Layout(NamedTuple):
    """families: of place.family; drivers: first version that has it, and the first that has it no more."""

    name: str
    families: tuple[str, ...]
    drivers: tuple[Version, Version]
    write: Callable[[Snapshot, str], str]


# The first row that fits is taken. Border versions between two layouts are those of public outputs (npu-smi of 23.0.2 and 23.0.7,
# 22.0.2 and 22.0.4); in between nothing is known, and the later layout is taken.
LAYOUTS = (
    Layout("HBM-91", ("910",), ((21, 0, 4), (23, 0, 3)), hbm.hbm_91),
    Layout("HBM-96", ("910",), ((23, 0, 3), (26, 0, 0)), hbm.hbm_96),
    Layout("HBM-96", ("910B", "910_93"), ((23, 0, 0), (26, 0, 0)), hbm.hbm_96),
    Layout("HBM-114", ("910B", "910_93"), ((26, 0, 0), (27, 0, 0)), hbm.hbm_114),
    Layout("ID-97", (place.NEWEST,), ((25, 7, 0), (27, 0, 0)), id_cells.id_97),
    Layout("DDR-92", ("310", "310P"), ((22, 0, 0), (22, 0, 4)), ddr.ddr_92),
    Layout("DDR-104", ("310", "310P"), ((22, 0, 4), (27, 0, 0)), ddr.ddr_104),
    Layout("DDR-88", ("310B4",), ((23, 0, 0), (27, 0, 0)), ddr.ddr_88),
    Layout("DDR-104", ("310B",), ((22, 0, 4), (27, 0, 0)), ddr.ddr_104),
)


def version(text: str) -> Version | None:
    """(25, 5, 1) of "25.5.1"; candidates count as their release begins: (26, 0, 0) of "26.0.rc1". None for anything else."""
    match = VERSION.match(text)
    return None if match is None else (int(match[1]), int(match[2] or 0), int(match[3] or 0))


def choose(snapshot: Snapshot) -> Layout | None:
    """The layout for the first device and the driver, None when it is not known."""
    first, driver = snapshot.devices[0], version(snapshot.driver_version)
    if driver is None:
        return None
    kinds = (place.name(first), place.family(first))  # 310B4 has a table of its own in its family
    for layout in LAYOUTS:
        begin, end = layout.drivers
        if any(kind in layout.families for kind in kinds) and begin <= driver < end:
            return layout
    return None


def table(snapshot: Snapshot, tool: str, complete: bool = True) -> str | None:
    """Plain `info`; None when the layout for this chip and driver is not known.

    tool: the tool's own version. complete: False when /etc/ascend_install.info does not say that the driver's install ended,
    which the tables with HBM tell.
    """
    layout = choose(snapshot)
    if layout is None:
        return None
    told = not complete and layout.name.startswith("HBM")
    return layout.write(snapshot, tool) + (INCOMPLETE_DRIVER if told else "")


def known() -> str:
    """The layouts for people: name, chip families, drivers."""
    return "; ".join(f"{one.name} ({', '.join(one.families)}, drivers {_said(one.drivers)})" for one in LAYOUTS)


def _said(drivers: tuple[Version, Version]) -> str:
    return " to before ".join(".".join(map(str, one)) for one in drivers)
