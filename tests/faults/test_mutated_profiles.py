"""Damaged profiles: every file of the real extracts and of an own capture, changed at random places, gives a Trace or an Unreadable; nothing else,
not slowly, and without eating memory. Seeds are fixed, so a failure names its case."""

from __future__ import annotations

import random
import resource
import time
from pathlib import Path

import pytest

from npu import events
from profiler.analysis.context import Context
from profiler.read import open_trace
from profiler.record.capture import Capture
from profiler.record.collection import Collection
from profiler.trace import TABLES, Trace, Unreadable

REAL = Path(__file__).parents[1] / "data" / "real"
LEVEL1 = REAL / "level1" / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
SOURCES = (
    LEVEL1 / "trace_view.json",
    LEVEL1 / "kernel_details.csv",
    LEVEL1 / "api_statistic.csv",
    LEVEL1 / "operator_memory.csv",
    LEVEL1 / "memory_record.csv",
    LEVEL1 / "communication.json",
    REAL / "text2023" / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "operator_details.csv",
    REAL / "cluster_analysis_output" / "cluster_communication_matrix.json",
    REAL / "db" / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_0.db",
    REAL / "db" / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "analysis.db",
)
PIECES = (
    b"", b"\0", b"\xff\xfe", b'"', b"{", b"}", b"[", b"]", b",", b"\n", b"\\", b"N/A", b"-1", b"nan", b"1e999", b"NaN", b"null",
    b"18446744073709551616", b"-99999999999999999999", b'"ts":', b'"args":[]', b'"ph":"E"', b'"ph":"B"', b'"ph":"C"', b"\xe4\xb8",
)  # fmt: skip
SLOWEST = 5.0  # s, one file
MOST_MEMORY = 400 << 20  # bytes above what was used before


def mutated(data: bytes, chance: random.Random) -> bytes:
    """One to six changes: a cut, a piece put in or in place of some bytes, a stretch doubled, swapped or left out."""
    made = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(made) + 1)
        length = chance.choice((0, 1, 4, 30, 700))
        action = chance.randrange(7)
        if action == 0 and chance.random() < 0.4:
            del made[at:]
        elif action == 1:
            made[at : at + length] = made[at : at + length] * 3
        elif action == 2:
            other = chance.randrange(len(made) + 1)
            made[at : at + length], made[other : other + length] = made[other : other + length], made[at : at + length]
        elif action == 3:
            del made[at : at + length]
        elif action == 4 and at < len(made):
            made[at] ^= 1 << chance.randrange(8)
        else:
            made[at : at + length] = chance.choice(PIECES)
    return bytes(made)


def own_capture(folder: Path) -> list[Path]:
    """The files of a small capture with rows in every table, each text column filled."""
    made = Capture(folder, Collection())
    for table, columns in events.TABLES.items():
        write = made.writer(table)
        timed = columns[0].name in ("start", "time")
        for n in range(60):
            row = [made.text(f"{table} {c.name} {n % 7}") if c.text else n % 3 for c in columns[:-1]]
            if timed:
                row[0] = n * 1000
            write(*(n * 1000 + 700 if c.name == "end" else value for c, value in zip(columns[:-1], row, strict=True)))
    made.close()
    return sorted(made.folder.iterdir())


def check(trace: Trace) -> None:
    """What a reader promises of every Trace."""
    for part in (trace, *trace.parts):
        for name in TABLES:
            table = getattr(part, name)
            if not table:
                continue
            start = table["start" if "start" in table else "time"]
            assert (start[1:] >= start[:-1]).all(), name
            if "end" in table:
                assert (table["end"] >= start).all(), name
            if "name" in table:
                assert table["name"].max() < len(part.strings) and table["name"].min() >= -1
        if part.task:
            assert (part.task["kind"] < len(events.KINDS)).all() and (part.task["kind"] >= 0).all()
        if part.api:
            assert (part.api["level"] >= 0).all()
        assert all(m.what and m.why for m in part.missing)


def run(folder: Path, seconds: float, seed: int) -> int:
    """Mutations until the time is over; their number."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    begun, count = time.monotonic(), 0
    own = own_capture(folder)
    sources = [(folder / p.name, folder / p.name, p.read_bytes()) for p in SOURCES]
    # The whole capture is opened, with one file changed: where it holds rows, not in the room kept for more.
    sources += [(p, p.parents[1], p.read_bytes().rstrip(b"\0") or b"\0") for p in own]
    while time.monotonic() - begun < seconds:
        target, opened, data = sources[count % len(sources)]
        chance = random.Random(f"{seed} {count}")
        target.write_bytes(mutated(data, chance))
        started = time.monotonic()
        try:
            trace = open_trace(opened)
        except Unreadable as error:
            assert error.what and error.next
        except Exception as error:
            raise AssertionError(f"case '{seed} {count}' of {target.name}: {error!r}") from error
        else:
            check(trace)
        assert time.monotonic() - started < SLOWEST, f"case '{seed} {count}' of {target.name} is slow"
        if target in own:
            target.write_bytes(data)
        else:
            target.unlink()
        count += 1
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) - before < MOST_MEMORY
    return count


def test_mutated_files(tmp_path: Path) -> None:
    assert run(tmp_path, 5, seed=1) >= 30


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
def test_many_mutated_files(tmp_path: Path, seed: int) -> None:
    assert run(tmp_path, 20, seed) >= 100


def test_mutated_timelines_can_be_judged(tmp_path: Path) -> None:
    """What was read of a damaged file does not stop the analysis either."""
    data = SOURCES[0].read_bytes()
    judged = 0
    for number in range(12):
        path = tmp_path / "trace_view.json"
        path.write_bytes(mutated(data, random.Random(number)))
        try:
            trace = open_trace(path)
        except Unreadable:
            continue
        assert Context(trace).length >= 1
        judged += 1
    assert judged >= 6
