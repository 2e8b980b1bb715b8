"""Damage done to files at random places, and what every reader promises of what it then gives. Seeds are fixed, so a failure names
its case. `python -m tests.faults.mutations [--count N] [NAME ...]` counts and times them: one line a reader."""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import resource
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from rich.console import Console

from npu import events
from profiler.analysis import analyze
from profiler.read import open_trace
from profiler.report.json_report import to_json
from profiler.report.terminal import print_report
from profiler.trace import TABLES, Trace, Unreadable
from tests.faults.small_profiles import SMALL

PIECES = (
    b"", b"\0", b"\xff\xfe", b'"', b"{", b"}", b"[", b"]", b",", b"\n", b"\\", b"N/A", b"-1", b"nan", b"1e999", b"NaN", b"null",
    b"18446744073709551616", b"-99999999999999999999", b'"ts":', b'"args":[]', b'"ph":"E"', b'"ph":"B"', b'"ph":"C"', b"\xe4\xb8",
)  # fmt: skip
BEYOND = (1 << 64, -(1 << 70))  # of what a database holds
VALUES: tuple[Any, ...] = (
    None, "", "N/A", 0, -1, 1, 1.5, -0.5, 1 << 31, 1 << 53, (1 << 63) - 1, -(1 << 63), *BEYOND, 1e308, -1e308, 1e-320, float("nan"),
    float("inf"), True, "x", "1e999", "nan", "-5", "0x10", "1,2;3", "18446744073709551615", "\0", "\u4e2d", {}, [], [[]], {"a": []},
)  # fmt: skip
SLOWEST = 5  # s, one file
MOST_MEMORY = 1 << 30  # bytes above what was used before
JUDGED_EVERY = 200  # of the damaged profiles that could be read are analysed and printed, too


class Count(NamedTuple):
    """Of one reader: damaged files, how many of them could still be read, how many were analysed, the slowest, s, and memory, bytes."""

    files: int
    read: int
    judged: int
    slowest: float
    memory: int


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


def damage(path: Path, data: bytes, chance: random.Random) -> None:
    """Write a damaged form of a file. Of JSON and databases, which hardly survive a change of their bytes, half keep their form and
    hold odd values, and lack parts."""
    if path.suffix == ".json" and chance.random() < 0.5:
        value = json.loads(data)
        for _ in range(chance.randint(1, 6)):
            value = odd_json(value, chance)
        path.write_text(json.dumps(value))
    elif path.suffix == ".db" and chance.random() < 0.5:
        path.write_bytes(data)
        odd_database(path, chance)
    else:
        path.write_bytes(mutated(data, chance))


def odd_json(value: Any, chance: random.Random) -> Any:
    """The value with one part of it, at any depth, replaced, doubled or left out."""
    if not isinstance(value, dict | list) or not value or chance.random() < 0.1:
        return deepcopy(chance.choice(VALUES))
    key = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
    action = chance.randrange(8)
    if action == 0:
        del value[key]
    elif action == 1 and isinstance(value, list):
        value.insert(chance.randrange(len(value)), value[key])
    elif action == 1:
        value[str(chance.choice(VALUES))] = value[key]
    else:
        value[key] = odd_json(value[key], chance)
    return value


def odd_database(path: Path, chance: random.Random) -> None:
    """One to six odd cells, and now and then a column, the rows or the whole of a table missing."""
    with closing(sqlite3.connect(path)) as made:
        tables = [str(n) for (n,) in made.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")]
        for _ in range(chance.randint(1, 6)):
            table = chance.choice(tables)
            columns = [str(row[1]) for row in made.execute(f'PRAGMA table_info("{table}")')]
            column, action = chance.choice(columns or ["rowid"]), chance.randrange(12)
            if action == 0 and len(tables) > 1:
                made.execute(f'DROP TABLE "{table}"')
                tables.remove(table)
            elif action == 1:
                made.execute(f'DELETE FROM "{table}"')
            elif action == 2 and columns:
                made.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "was {column}"')
            elif columns:
                row = chance.randrange(4)
                value = chance.choice([v for v in VALUES if not isinstance(v, dict | list) and v not in BEYOND])
                with suppress(sqlite3.IntegrityError):  # the table forbids it
                    made.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = (SELECT rowid FROM "{table}" LIMIT 1 OFFSET {row})', (value,))
        made.commit()


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


def judge(trace: Trace) -> None:
    """The report of a damaged profile as `msprof analyze` gives it: text and JSON."""
    report = analyze(trace, views=True)
    print_report(report, Console(file=io.StringIO(), width=200))
    json.dumps(to_json(report))


def run(name: str, folder: Path, count: int, seed: int) -> Count:
    """So many damaged files of one reader. AssertionError names the case that broke a promise."""
    small = SMALL[name](folder)
    whole = {p: p.read_bytes() for p in small.changed}
    check(open_trace(small.opened))
    before = _memory()
    read = judged = 0
    slowest = 0.0
    for number in range(count):
        case = f"{seed} {number}"
        target = small.changed[number % len(small.changed)]
        damage(target, whole[target], random.Random(case))
        started = time.process_time()
        try:
            with at_most(SLOWEST), warnings.catch_warnings(action="error"):
                trace = open_trace(small.opened)
                check(trace)
                read += 1
                if read % JUDGED_EVERY == 0:
                    judge(trace)
                    judged += 1
        except Unreadable as error:
            assert error.what and error.next
        except Exception as error:
            raise AssertionError(f"{name}: case '{case}' of {target.name}: {error!r}") from error
        slowest = max(slowest, time.process_time() - started)
        target.write_bytes(whole[target])
    used = _memory() - before
    assert used < MOST_MEMORY, f"{name}: {used >> 20} MiB"
    return Count(count, read, judged, slowest, used)


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """TimeoutError when the block takes longer, in time of the process: a busy machine makes nothing hang."""

    def stop(signal: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"over {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _memory() -> int:
    """The most this process used so far, bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", nargs="*", default=list(SMALL), metavar="NAME")
    options.add_argument("--count", type=int, default=10_000)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    print(f"{'reader':30s} {'files':>6s} {'read':>6s} {'judged':>6s} {'slowest':>8s} {'memory':>8s} {'time':>6s}")
    failed = 0
    for name in given.names:
        sys.stdout.flush()
        process = os.fork()  # memory is counted for each reader alone
        if process:
            failed += os.waitpid(process, 0)[1] != 0
            continue
        begun = time.perf_counter()
        status = 0
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = run(name, Path(folder), given.count, given.seed)
                print(
                    f"{name:30s} {found.files:6d} {found.read:6d} {found.judged:6d} {found.slowest:6.3f} s"
                    f" {found.memory >> 20:4d} MiB {time.perf_counter() - begun:4.0f} s"
                )
            except AssertionError as error:
                print(f"{name:30s} {error}")
                traceback.print_exception(error.__cause__)
                status = 1
        sys.stdout.flush()
        os._exit(status)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
