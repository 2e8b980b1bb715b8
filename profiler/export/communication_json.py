"""communication.json and communication_matrix.json: times, sizes and bandwidth of each communication operator.

Per operator, of the first plane that moves data between ranks (real files look at no other): transit is the time of its
transfers, wait that of its waits for notifies, synchronization the waits before the first transfer, idle the rest. Bandwidth
counts the transfers of all planes. MB are 10**6 bytes, GB/s 10**9. Groups stand as numbers, as in real files: readers find a
group of profiler_metadata.json by the number of its name.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from npu import events
from profiler.export import chrome, columns
from profiler.export.files import whole
from profiler.trace import Trace

TRANSPORTS = ("RDMA", "HCCS", "PCIE", "SDMA", "SIO")
# Packets from here on count as large, bytes. The real limits are not public; real files count 18.9 MB over HCCS as small.
LARGE = {"RDMA": 1_000_000}
LARGE_OTHER = 32_000_000
TOTAL = "Total Op Info"
P2P = ("send", "receive", "recv")
MS, MB = 1e6, 1e6


class _Operator:
    """One operator with its parts as (part, plane, start, end, bytes, transport, src, dst)."""

    def __init__(self, name: str, group: str, start: int, end: int) -> None:
        self.name, self.group, self.start, self.end = name, group, start, end
        self.parts: list[tuple[str, int, int, int, int, str, int, int]] = []

    @property
    def title(self) -> str:
        return f"{self.name}@{number_of(self.group)}"

    @property
    def kind(self) -> str:
        """p2p or collective."""
        return "p2p" if any(w in self.name.lower() for w in P2P) else "collective"


def number_of(group: str) -> str:
    """The number a group's name is known by: two polynomial hashes of 32 bits, with 29 in the upper half and 131 in the lower;
    what is a number already stays (msprof-analyze 26.2.0 looks names up by the same)."""
    if group.isdigit():
        return group
    upper = lower = 0
    for letter in group:
        upper, lower = (upper * 29 + ord(letter)) & 0xFFFFFFFF, (lower * 131 + ord(letter)) & 0xFFFFFFFF
    return str(upper << 32 | lower)


def write(trace: Trace, folder: Path, step: str = "step", only: Sequence[str] = ()) -> list[Path]:
    """The two files (only: names of those wanted) in a folder that is made when it is not there; none when nothing communicated.
    Existing ones are replaced."""
    operators = _operators(trace)
    if not operators:
        return []
    folder.mkdir(exist_ok=True)
    made = []
    for name, content in (("communication", _times(trace, operators)), ("communication_matrix", _matrix(operators))):
        if only and name not in only:
            continue
        path = folder / f"{name}.json"
        with whole(path, replace=True) as out:
            json.dump({step: content}, out, indent=1)
        made.append(path)
    return made


def _operators(trace: Trace) -> list[_Operator]:
    if not trace.comm:
        return []
    comm, strings = trace.comm, trace.strings
    level, op, group = comm["level"], columns.column(comm, "op"), columns.column(comm, "group")
    by_number: dict[tuple[int, int], _Operator] = {}
    made = []
    device = comm["device"]
    for row in np.flatnonzero(level == events.COMM_LEVELS.index("op")).tolist():
        found = _Operator(
            strings[int(comm["name"][row])], strings[int(group[row])], int(comm["start"][row]), int(comm["end"][row])
        )
        by_number[int(device[row]), int(op[row])] = found
        made.append(found)
    kinds, size = columns.column(comm, "part"), columns.column(comm, "bytes")
    transport = columns.column(comm, "link" if "link" in comm else "transport")
    plane, src, dst = (columns.column(comm, n) for n in ("plane", "src", "dst"))
    for row in np.flatnonzero(level != events.COMM_LEVELS.index("op")).tolist():
        owner = by_number.get((int(device[row]), int(op[row])))
        if owner is not None and kinds[row] >= 0:
            owner.parts.append(
                (events.COMM_PARTS[int(kinds[row])], int(plane[row]), int(comm["start"][row]), int(comm["end"][row]),
                 max(int(size[row]), 0), strings[int(transport[row])], int(src[row]),
                 int(dst[row] if dst[row] >= 0 else src[row]))  # without another rank it stays on its own
            )  # fmt: skip
    return made


def _times(trace: Trace, operators: list[_Operator]) -> dict[str, Any]:
    made: dict[str, dict[str, Any]] = {"p2p": {}, "collective": {}}
    for kind in made:
        mine = [o for o in operators if o.kind == kind]
        for operator in mine:
            made[kind][operator.title] = {
                "Communication Time Info": _time(operator, chrome.unix_zero(trace)),
                "Communication Bandwidth Info": _bandwidth([operator]),
            }
        if mine:
            total = _sum([made[kind][o.title]["Communication Time Info"] for o in mine])
            made[kind][TOTAL] = {"Communication Time Info": total, "Communication Bandwidth Info": _bandwidth(mine)}
    return made


def _time(operator: _Operator, zero: int) -> dict[str, float]:
    moved = [p[1] for p in operator.parts if p[0] in ("transfer", "reduce") and p[6] != p[7]]
    lane = min(moved, default=min((p[1] for p in operator.parts), default=0))
    parts = sorted((p for p in operator.parts if p[1] == lane), key=lambda p: p[2])
    moving = [p for p in parts if p[0] in ("transfer", "reduce")]
    transit = sum(p[3] - p[2] for p in moving)
    waits = [p for p in parts if p[0] == "wait"]
    wait = sum(p[3] - p[2] for p in waits)
    first = moving[0][2] if moving else operator.end
    synchronization = sum(p[3] - p[2] for p in waits if p[2] < first)
    elapse = operator.end - operator.start
    return {
        "Start Timestamp(us)": (operator.start + zero) / 1000,
        "Elapse Time(ms)": elapse / MS, "Transit Time(ms)": transit / MS, "Wait Time(ms)": wait / MS,
        "Synchronization Time(ms)": synchronization / MS, "Idle Time(ms)": (elapse - transit - wait) / MS,
        **_ratios(transit, wait, synchronization),
    }  # fmt: skip


def _ratios(transit: float, wait: float, synchronization: float) -> dict[str, float]:
    return {
        "Wait Time Ratio": round(wait / (wait + transit), 4) if wait + transit else 0,
        "Synchronization Time Ratio": round(synchronization / (synchronization + transit), 4) if synchronization + transit else 0,
    }


def _sum(times: list[dict[str, float]]) -> dict[str, float]:
    names = [n for n in times[0] if n.endswith("(ms)")]
    sums = {n: sum(t[n] for t in times) for n in names}
    return {
        "Start Timestamp(us)": min(t["Start Timestamp(us)"] for t in times), **sums,
        **_ratios(sums["Transit Time(ms)"], sums["Wait Time(ms)"], sums["Synchronization Time(ms)"]),
    }  # fmt: skip


def _bandwidth(operators: list[_Operator]) -> dict[str, Any]:
    """By transport; SDMA is the sum of those that the copy engines drive (HCCS, PCIE, SIO)."""
    made: dict[str, dict[str, Any]] = {}
    moved: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for operator in operators:
        for part, _, start, end, size, transport, src, dst in operator.parts:
            if part not in ("transfer", "reduce") or src == dst or size <= 0:
                continue
            name = "RDMA" if "RO" in transport.upper() or transport == "RDMA" else transport.upper()
            if name in TRANSPORTS:
                moved[name].append((size, end - start))
            if name in ("HCCS", "PCIE", "SIO"):
                moved["SDMA"].append((size, end - start))
    for name in TRANSPORTS:
        packets = moved[name]
        size, time = sum(s for s, _ in packets), sum(t for _, t in packets)
        large = sum(s for s, _ in packets if s >= LARGE.get(name, LARGE_OTHER))
        counted: dict[str, list[float]] = {}
        for packet, lasted in packets if name != "SDMA" else ():
            held = counted.setdefault(repr(packet / MB), [0, 0.0])
            held[0] += 1
            held[1] += lasted / MS
        made[name] = {
            "Transit Size(MB)": size / MB, "Transit Time(ms)": time / MS, "Bandwidth(GB/s)": round(size / time, 4) if time else 0,
            "Large Packet Ratio": round(large / size, 4) if size else 0, "Size Distribution": counted,
        }  # fmt: skip
    return made


def _matrix(operators: list[_Operator]) -> dict[str, Any]:
    """Per type of operator and link: the operator with the highest bandwidth, the middle one, the lowest three, and the sum."""
    made: dict[str, dict[str, Any]] = {"p2p": {}, "collective": {}}
    by_type: dict[tuple[str, str, str], list[_Operator]] = defaultdict(list)
    for operator in operators:
        by_type[operator.kind, _type(operator.name), number_of(operator.group)].append(operator)
    for (kind, name, group), mine in by_type.items():
        links: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for operator in mine:
            for pair, facts in _links([operator]).items():
                links[pair].append(facts | {"Op Name": operator.name})
        places = made[kind]
        for pair, held in links.items():
            ranked = sorted(held, key=lambda facts: -float(facts["Bandwidth(GB/s)"]))
            chosen = {"top1": 0, "middle": len(ranked) // 2, **{f"bottom{n}": -n for n in range(1, min(3, len(ranked)) + 1)}}
            for place, at in chosen.items():
                places.setdefault(f"{name}-{place}@{group}", {})[pair] = ranked[at]
        places[f"{name}-total@{group}"] = _links(mine)
    return made


def _type(name: str) -> str:
    """hcom_allReduce__586_0_1 -> allreduce."""
    return name.partition("__")[0].removeprefix("hcom_").strip("_").lower()


def _links(operators: list[_Operator]) -> dict[str, Any]:
    sums: dict[tuple[int, int, str], list[float]] = {}
    for operator in operators:
        for part, _, start, end, size, transport, src, dst in operator.parts:
            if part in ("transfer", "reduce") and src >= 0 and dst >= 0:
                held = sums.setdefault((src, dst, "LOCAL" if src == dst else transport), [0, 0])
                held[0] += size
                held[1] += end - start
    return {
        f"{src}-{dst}": {
            "Transport Type": transport, "Transit Size(MB)": size / MB, "Transit Time(ms)": time / MS,
            "Bandwidth(GB/s)": round(size / time, 4) if time else 0
        }
        for (src, dst, transport), (size, time) in sums.items()
    }  # fmt: skip
