"""Which table plain `info` draws: by chip family and driver generation. A layout is a row here and a writer in its own file."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from npu import soc
from npu.driver.door import Snapshot
from npu.smi import hbm
from npu.smi.failures import INCOMPLETE_DRIVER


class Layout(NamedTuple):
    """families: of npu.soc; drivers: first generation that has it, and the first that has it no more."""

    name: str
    families: tuple[str, ...]
    drivers: tuple[int, int]
    write: Callable[[Snapshot, str], str]


LAYOUTS = (
    Layout("HBM-96", ("910B", "910_93"), (23, 26), hbm.hbm_96),
)


def choose(snapshot: Snapshot) -> Layout | None:
    """The layout for the first device and the driver, None when it is not known."""
    family = soc.find(snapshot.devices[0].soc).family
    generation = snapshot.driver_version.partition(".")[0]
    if not generation.isdigit():
        return None
    for layout in LAYOUTS:
        first, end = layout.drivers
        if family in layout.families and first <= int(generation) < end:
            return layout
    return None


def table(snapshot: Snapshot, tool: str, complete: bool = True) -> str | None:
    """Plain `info`; None when the layout for this chip and driver is not known.

    tool: the tool's own version. complete: False when /etc/ascend_install.info does not say that the driver's install ended.
    """
    layout = choose(snapshot)
    if layout is None:
        return None
    return layout.write(snapshot, tool) + ("" if complete else INCOMPLETE_DRIVER)


def known() -> str:
    """The layouts for people: name, chip families, driver generations."""
    return "; ".join(
        f"{one.name} ({', '.join(one.families)}, drivers {one.drivers[0]} to {one.drivers[1] - 1})" for one in LAYOUTS
    )
