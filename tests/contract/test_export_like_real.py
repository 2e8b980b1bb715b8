"""Exports beside real files: same columns, same forms of numbers, same keys of events (samples: tests/data/msprof-headers)."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from profiler.export import api_statistic, op_statistic, op_summary, pmu, timeline_json
from profiler.trace import Trace
from tests.made import TEXTS, Made

REAL = Path(__file__).parent.parent / "data" / "msprof-headers"
STAMP = "20261130120000"
# torch_npu renames op_summary's columns for kernel_details and puts the step before them.
RENAMED = {"Name": "Op Name", "Type": "OP Type", "Accelerator Core": "Task Type", "Start Time(us)": "Task Start Time(us)",
           "Duration(us)": "Task Duration(us)", "Wait Time(us)": "Task Wait Time(us)"}
COLUMNS = {"Model ID": "model", "Task ID": "task_id", "Stream ID": "stream", "Op Name": "name", "OP Type": "op_type",
           "OP State": "op_state", "Task Type": "task_type",
           "Block Dim": "block_dim", "Mix Block Dim": "mix_block_dim", "Input Shapes": "in_shapes",
           "Input Data Types": "in_dtypes", "Input Formats": "in_formats", "Output Shapes": "out_shapes",
           "Output Data Types": "out_dtypes", "Output Formats": "out_formats"}


def real_rows(name: str) -> list[dict[str, str]]:
    with open(REAL / name, newline="") as file:
        return [{RENAMED.get(k, k): v for k, v in row.items()} for row in csv.DictReader(file)]


def header(path: Path) -> list[str]:
    return path.read_text().splitlines()[0].split(",")


def ns(text: str) -> int:
    whole, _, rest = text.strip().partition(".")
    return int(whole) * 1000 + int(rest.ljust(3, "0"))


def trace_of(rows: list[dict[str, str]]) -> Trace:
    """The trace a reader would make of op_summary rows."""
    made = Made()
    for row in rows:
        start = ns(row["Task Start Time(us)"])
        end = start + ns(row["Task Duration(us)"])
        if row["Task Type"] == "COMMUNICATION":
            made.comm("op", row["Op Name"], start / 1000, end / 1000)
            made.rows["comm"][-1] |= {"start": start, "end": end}
            continue
        facts: dict[str, object] = {}
        for column, field in COLUMNS.items():
            value = row[column].strip('"')
            facts[field] = value if field in TEXTS else int(value)
        if facts["model"] == 4294967295:
            facts["model"] = -1
        made.task("kernel", start / 1000, end / 1000, **facts)
        made.rows["task"][-1] |= {"start": start, "end": end}
    trace = made.trace()
    kernels = [r for r in rows if r["Task Type"] != "COMMUNICATION"]
    counters = {n: np.array([float("nan") if r[n] == "N/A" else float(r[n]) for r in kernels]) for n in pmu.PIPES}
    hf32 = np.array([trace.strings.id(r["HF32 Eligible"]) for r in kernels])
    trace.task = trace.task.with_columns(hf32=hf32, **counters)
    return trace


def test_op_summary_columns_are_the_real_ones(tmp_path: Path) -> None:
    (path,) = op_summary.write(trace_of(real_rows("kernel_details.csv")), tmp_path, STAMP)
    real = [RENAMED.get(n, n) for n in header(REAL / "kernel_details.csv")]
    assert header(path) == real[1:]  # without Step Id


def test_op_summary_lines_are_byte_for_byte_the_real_ones(tmp_path: Path) -> None:
    rows = real_rows("kernel_details.csv")
    (path,) = op_summary.write(trace_of(rows), tmp_path, STAMP)

    def comparable(line: str) -> str:
        # The wait of a row refers to its neighbour, which the sample left out; its place is the field after start and duration.
        before, tab, after = line.partition("\t,")
        duration, _wait, rest = after.split(",", 2)
        return before + tab + duration + "," + rest

    sample = (REAL / "kernel_details.csv").read_text().splitlines()
    real = [line.partition(",")[2].replace(",COMMUNICATION,", ",HCCL,") for line in sample]
    ours = path.read_text().splitlines()
    assert [comparable(line) for line in ours[1:]] == [comparable(line) for line in real[1:]]
    assert len(ours) == 7


def test_a_csv_reader_gets_the_same_values_back(tmp_path: Path) -> None:
    rows = real_rows("kernel_details.csv")
    (path,) = op_summary.write(trace_of(rows), tmp_path, STAMP)
    with open(path, newline="") as file:
        for ours, real in zip(csv.DictReader(file), rows, strict=True):
            for name in ours:
                if name not in ("Task Wait Time(us)", "Task Type"):
                    assert ours[name] == real[name], name
            assert float(ours["Task Start Time(us)"]) == float(real["Task Start Time(us)"])


@pytest.mark.parametrize(("name", "columns"), [
    ("op_statistic.csv", op_statistic.HEADER), ("api_statistic.csv", api_statistic.HEADER),
])
def test_statistics_have_the_real_columns(name: str, columns: tuple[str, ...]) -> None:
    assert list(columns) == header(REAL / name)


def test_op_statistic_writes_numbers_as_the_real_file_does(tmp_path: Path) -> None:
    # Sort: 2 kernels of 9.56 and 10 us in a device total that makes their share 0.008 %.
    real = next(line for line in (REAL / "op_statistic.csv").read_text().splitlines() if ",Sort," in line)
    made = Made()
    made.task("kernel", 0, 9.56, op_type="Sort", task_type="MIX_AIV")
    made.task("kernel", 10, 20, op_type="Sort", task_type="MIX_AIV")
    made.task("kernel", 100, 100 + 231_269.3, op_type="Rest", task_type="AI_CORE")
    (path,) = op_statistic.write(made.trace(), tmp_path, STAMP)
    assert path.read_text().splitlines()[2] == real


def busy_trace() -> Trace:
    """A little of everything the timeline sample has."""
    made = Made()
    made.meta |= {"pid": 3096504, "unix_zero_ns": 1_736_408_883_000_000_000}
    made.api("aclrtMemcpyAsync", 0, 3, correlation=1)
    made.api("launch", 4, 5, level="node", correlation=2)
    made.api("Launch_Ffts", 6, 7, level="communication", correlation=3)
    made.task("copy", 5, 9, correlation=1, direction=1)
    made.task("kernel", 10, 20, correlation=2, name="trans_TransData_0", task_type="AI_CORE")
    made.comm("op", "hcom_allReduce__586_0_1", 21, 40, group="0", correlation=3, count=16, dtype="FP32", algorithm="MESH-RING")
    made.comm("part", "Reduce_Inline", 22, 30, group="0", plane=0, part=3, src=0, dst=1, bytes=64, link="HCCS", transport="SDMA")
    return made.trace()


def timeline(tmp_path: Path) -> list[dict[str, Any]]:
    (path,) = timeline_json.write(busy_trace(), tmp_path, STAMP)
    read: list[dict[str, Any]] = json.loads(path.read_text())
    return read


def shape(event: dict[str, Any], layers: dict[int, str]) -> tuple[object, ...]:
    """What a reader relies on: phase, layer, keys and their types, argument keys and their types."""
    kind = event["name"].partition("@")[0] if event["ph"] == "X" and layers[event["pid"]] == "CANN" else ""
    return event["ph"], layers[event["pid"]], kind, types(event), types(event.get("args", {}))


def types(values: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((k, "number" if isinstance(v, int | float) else type(v).__name__) for k, v in values.items()))


def shapes(events: list[dict[str, Any]]) -> set[tuple[object, ...]]:
    layers = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    return {shape(e, layers) for e in events}


def test_every_kind_of_real_event_has_its_twin_with_the_same_keys(tmp_path: Path) -> None:
    real = json.loads((REAL / "timeline_events.json").read_text())
    # The sample has host calls, tasks, arrows to both kinds of head, operators, parts, overlap, clock and metadata.
    assert shapes(real) - shapes(timeline(tmp_path)) == set()


def test_times_are_text_with_three_decimals_and_events_an_array(tmp_path: Path) -> None:
    events = timeline(tmp_path)
    assert isinstance(events, list)
    for event in events:
        if event["ph"] != "M":
            whole, _, rest = event["ts"].partition(".")
            assert len(whole) == 16 and whole.isdigit() and len(rest) == 3 and rest.isdigit()


def test_arrows_come_in_pairs_that_stand_on_bars(tmp_path: Path) -> None:
    events = timeline(tmp_path)
    ends = Counter((e["id"], e["ph"]) for e in events if e["ph"] in "sf")
    ids = {i for i, _ in ends}
    assert len(ids) == 3 and all(ends[i, "s"] == ends[i, "f"] == 1 for i in ids)
    bars = {(e["pid"], e["tid"], e["ts"]) for e in events if e["ph"] == "X"}
    assert all((e["pid"], e["tid"], e["ts"]) in bars for e in events if e["ph"] in "sf")
    assert all(isinstance(e["id"], str) and e["name"] == "HostToDevice" + e["id"] for e in events if e["ph"] in "sf")
