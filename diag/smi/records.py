"""What a text of the device tool says, as plain frozen records.

None always means "the text does not give it"; why stands in `states` by field name, as one of STATES. Memory is in MB as
the tool prints it (it divides by 1024 twice), power in W, temperature in degrees Celsius, shares in percent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

# Why a value is None: printed as NA; printed as '-' because the card's first die carries it; a pool of 0 of 0, which this
# chip has not; a column the layout has not; cut off with the end of the text.
STATES = ("not_reported", "on_first_die", "absent", "not_shown", "cut_off")
NOT_REPORTED, ON_FIRST_DIE, ABSENT, NOT_SHOWN, CUT_OFF = STATES

MOST_PROCESSES = 8  # rows a chip: the tool leaves further processes out without a word


class Pool(NamedTuple):
    """Memory in MB or huge pages in pages. used None: the tool could not read it (NA)."""

    used: int | None
    total: int


@dataclass(frozen=True, slots=True)
class Device:
    """One chip (die) of a card. card and chip are the tool's numbers; logic_id and phy_id are None where they are not shown."""

    card: int
    chip: int
    phy_id: int | None
    logic_id: int | None
    name: str
    health: str | None
    power_w: float | None
    temp_c: int | None
    utilisation: int | None
    utilisation_kind: str  # AICore | NPU: which share the layout shows
    ddr: Pool | None
    hbm: Pool | None
    hugepages: Pool | None
    bus_id: str | None
    states: Mapping[str, str] = field(default_factory=dict)

    @property
    def memory(self) -> Pool | None:
        """The pool that models live in: HBM where there is one, else DDR."""
        return self.hbm if self.hbm is not None else self.ddr


@dataclass(frozen=True, slots=True)
class Process:
    """One row of the process table. capped: its chip fills the table, further processes may be missing.

    name "" where the tool could not read it (a process outside the caller's pid namespace). container_pid None: not shown, or
    NA for a process of the host.
    """

    card: int
    chip: int
    pid: int
    name: str
    memory_mb: int | None
    container_pid: int | None
    capped: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """The tool said that it cannot. cause: a row of data/smi_failures.csv; codes: return codes in the text, the cause's first.

    status: exit status of the real tool for the cause, None where it is not known.
    """

    cause: str
    codes: tuple[int, ...]
    lines: tuple[str, ...]
    status: int | None


@dataclass(frozen=True, slots=True)
class Block:
    """Key lines of one chip (`info -t`, `info -l`), chip None: of the card. A value of several lines has newlines."""

    card: int | None
    chip: int | None
    mcu: bool
    values: Mapping[str, str]


class Mapped(NamedTuple):
    """One row of `info -m`; rows of the controller (MCU) are left out."""

    card: int
    chip: int
    logic_id: int | None
    phy_id: int | None
    name: str


@dataclass(frozen=True, slots=True)
class Sample:
    """One row of `info watch`. values by column name; None for NA and '-'."""

    card: int
    chip: int
    values: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Topology:
    """`info -t topo`: links[row][column] by names, affinity: CPU ranges by row name."""

    names: tuple[str, ...]
    links: Mapping[str, tuple[str, ...]]
    affinity: Mapping[str, str]


class Answered(NamedTuple):
    """A command of a pasted terminal session and its output without blank lines."""

    command: str
    output: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SmiText:
    """Everything one text says. kind: info, watch, -l, -m, topo, `-t TYPE`, version, failure, or "" for a text of another tool.

    layout: id of the table or form, "" when unknown. process_table: shown | not_shown | cut_off. idle_cards: cards the table
    says no process runs on. cut: "" or where the text ends too early: head, devices, processes, lines.
    """

    kind: str
    layout: str = ""
    tool: str = ""
    driver: str = ""
    devices: tuple[Device, ...] = ()
    processes: tuple[Process, ...] = ()
    idle_cards: tuple[int, ...] = ()
    process_table: str = NOT_SHOWN
    driver_incomplete: bool = False
    cut: str = ""
    error: Failure | None = None
    blocks: tuple[Block, ...] = ()
    mapping: tuple[Mapped, ...] = ()
    samples: tuple[Sample, ...] = ()
    topology: Topology | None = None
    session: tuple[Answered, ...] = ()
