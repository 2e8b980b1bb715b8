"""Chrome traces as they come from broken writers and copies: what is read all the same, and what the check says of it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from profiler.check.run import check
from profiler.read import open_trace
from profiler.trace import Trace
from tests.unit.profiler.test_read_chrome import HARDWARE, lost, names, slice_

KERNELS = [HARDWARE, *(slice_(f"k{i}", 1000 + 20 * i, 10) for i in range(4))]
TEXT = json.dumps(KERNELS)


def read(tmp_path: Path, content: bytes | str, name: str = "trace.json") -> tuple[Trace, dict[str, int]]:
    """The trace of a file, and the defects found in it with their counts."""
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return open_trace(path), {d.id: d.count for d in check(path).defects}


def edge(phase: str, ts: int, name: str = "") -> dict[str, Any]:
    return {"ph": phase, "name": name, "pid": 7, "tid": 1, "ts": ts}


def test_ranges_one_after_the_other_end_where_their_own_end_stands(tmp_path: Path) -> None:
    some = [edge("B", 0, "a"), edge("E", 5), edge("B", 10, "b"), edge("B", 12, "c"), edge("E", 13), edge("E", 18)]
    trace, defects = read(tmp_path, json.dumps(some))
    found = {n: (int(s), int(e)) for n, s, e in zip(names(trace, "marker"), trace.marker["start"], trace.marker["end"], strict=True)}
    assert found == {"a": (0, 5000), "c": (12000, 13000), "b": (10000, 18000)}
    assert "unmatched" not in defects and "ranges" not in lost(trace)


def test_two_traces_in_one_file_are_both_read(tmp_path: Path) -> None:
    more = json.dumps([slice_("late", 2000, 10)])
    trace, defects = read(tmp_path, TEXT + "\n" + more)
    assert names(trace, "task") == ["k0", "k1", "k2", "k3", "late"]
    assert "behind_end" in defects and "another list" in lost(trace)
    boxed, defects = read(tmp_path, json.dumps({"traceEvents": KERNELS}) + json.dumps({"traceEvents": [slice_("late", 2000, 10)]}))
    assert names(boxed, "task")[-1] == "late" and "behind_end" in defects


def test_zero_bytes_behind_the_end_are_named(tmp_path: Path) -> None:
    trace, defects = read(tmp_path, TEXT.encode() + bytes(4096))
    assert len(trace.task) == 4 and list(defects) == ["behind_end"]


def test_zero_bytes_instead_of_the_end_are_a_truncated_file(tmp_path: Path) -> None:
    trace, defects = read(tmp_path, TEXT[:-30].encode() + bytes(4096))
    assert names(trace, "task") == ["k0", "k1", "k2"]
    assert "truncated" in defects and "damaged" not in defects


@pytest.mark.parametrize("text", [TEXT[:-1] + ",]", json.dumps({"traceEvents": KERNELS})[:-2] + ",]}"])
def test_a_comma_behind_the_last_event_loses_nothing(tmp_path: Path, text: str) -> None:
    trace, defects = read(tmp_path, text)
    assert len(trace.task) == 4
    assert list(defects) == ["comma"] and "damaged" not in lost(trace)


def test_a_duration_that_is_no_number_is_no_duration_of_zero(tmp_path: Path) -> None:
    trace, defects = read(tmp_path, TEXT.replace('"ts": 1060, "dur": 10', '"ts": 1060, "dur": NaN'))
    assert names(trace, "task") == ["k0", "k1", "k2"] and "k3" in lost(trace)
    assert defects["not_numbers"] == 5 and defects["unreadable_time"] == 1 and "escaped" not in defects


def test_events_one_a_line_are_read(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(e) for e in KERNELS)
    trace, defects = read(tmp_path, lines + '\n{"ph": "X", "na')
    assert names(trace, "task") == ["k0", "k1", "k2", "k3"]
    assert "lines" in defects and "damaged" in defects


def test_utf16_as_powershell_writes_it_is_read(tmp_path: Path) -> None:
    trace, defects = read(tmp_path, TEXT.encode("utf-16"))
    assert len(trace.task) == 4 and list(defects) == ["utf16"]


def test_a_cut_archive_is_said_once(tmp_path: Path) -> None:
    many = json.dumps([HARDWARE, *(slice_(f"k{i}", 1000 + 20 * i, 10) for i in range(5000))]).encode()
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(many)[:-400])
    assert [d.id for d in check(path).defects].count("cut_archive") == 1


@pytest.mark.parametrize(
    ("content", "defect"),
    [
        ("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "lfs_pointer"),
        ("  \n\n", "blank"),
        ("<!DOCTYPE html><html></html>", "not_events"),
    ],
)
def test_what_is_no_trace_is_called_by_its_name(tmp_path: Path, content: str, defect: str) -> None:
    path = tmp_path / "trace.json"
    path.write_text(content)
    assert [d.id for d in check(path).defects] == [defect]


def test_times_in_another_unit_are_said_by_the_reader_too(tmp_path: Path) -> None:
    ns, _ = read(tmp_path, json.dumps([HARDWARE, *(slice_(f"k{i}", 1778640000123456000 + 20_000 * i, 10_000) for i in range(4))]))
    assert "look like today's in ns" in lost(ns)
    us, _ = read(tmp_path, json.dumps([HARDWARE, *(slice_(f"k{i}", 1778640000123456 + 20 * i, 10) for i in range(4))]))
    assert "look like" not in lost(us)


def test_a_clock_jump_is_said_by_the_reader_too(tmp_path: Path) -> None:
    later = [slice_(f"j{i}", 3_600_000_000 + 20 * i, 10) for i in range(4)]
    trace, defects = read(tmp_path, json.dumps([*KERNELS, *later]))
    assert "clock_jump" in defects and "clock jumps" in lost(trace)
    assert "clock jumps" not in lost(read(tmp_path, TEXT)[0])


def test_a_trace_without_anything_that_lasts_says_so(tmp_path: Path) -> None:
    assert "holds no events" in lost(read(tmp_path, '{"traceEvents": []}')[0])
    assert "nothing in it lasts" in lost(read(tmp_path, json.dumps([HARDWARE]))[0])


def test_records_without_a_time_are_no_clock_jump(tmp_path: Path) -> None:
    epoch = [slice_(f"k{i}", 1778640000123456 + 20 * i, 10) for i in range(4)]
    odd = [slice_("lost", 0, 0), slice_("none", None, 5), slice_("endless", 1778640000123000, 10**15)]
    trace, _ = read(tmp_path, json.dumps([HARDWARE, *epoch, *odd]))
    assert "clock jumps" not in lost(trace) and "look like" not in lost(trace)
