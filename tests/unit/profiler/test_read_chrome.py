"""Chrome traces of any producer: layers, links, odd forms, damage."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest

from npu import events
from profiler.read import open_trace
from profiler.trace import Trace, Unreadable

Event = dict[str, Any]


def process(pid: int, name: str) -> Event:
    return {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}


def slice_(name: str, ts: Any, dur: Any, pid: Any = 3, tid: Any = 2, **more: Any) -> Event:
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, **more}


HARDWARE = process(3, "Ascend Hardware")


def opened(tmp_path: Path, content: object, name: str = "trace.json") -> Trace:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return open_trace(path)


def names(trace: Trace, table: str) -> list[str]:
    return [trace.strings[int(n)] for n in getattr(trace, table)["name"]]


def lost(trace: Trace) -> str:
    return "\n".join(f"{m.what}: {m.why}" for m in trace.missing)


def test_array_and_object_form_are_the_same(tmp_path: Path) -> None:
    some = [HARDWARE, slice_("k", 10, 5), slice_("j", 20, 5)]
    array = opened(tmp_path, some)
    boxed = opened(tmp_path, {"schemaVersion": 1, "traceEvents": some, "distributedInfo": {"rank": 3, "world_size": 8}})
    assert names(array, "task") == names(boxed, "task") == ["k", "j"]
    assert boxed.meta["rank"] == 3 and boxed.meta["world_size"] == 8
    assert array.meta["rank"] == 0 and "rank 0 is assumed" in lost(array)


def test_all_events_in_one_line_are_read_as_fast_as_one_a_line(tmp_path: Path) -> None:
    """Where the first line holds all of a large file, whether it is one event must not be asked once for each of them."""
    rows = [{"ph": "X", "name": "n", "pid": 1, "tid": 1, "ts": n, "dur": 1, "args": {"a": n}} for n in range(8_000)]
    took: dict[str, list[float]] = {}
    for form, between in (("lines", ",\n"), ("line", ", ")):
        file = tmp_path / f"{form}.json"
        file.write_text('{"traceEvents": [' + between.join(map(json.dumps, rows)) + "]}")
        took[form] = []
        for _ in range(3):
            begun = process_time()
            assert len(open_trace(file).marker) == 8_000
            took[form].append(process_time() - begun)
    assert min(took["line"]) < 3 * min(took["lines"])


def test_names_of_processes_may_come_last(tmp_path: Path) -> None:
    filler = [slice_("x" * 200, 100 + i, 1, pid=9, tid=1) for i in range(5000)]  # the name lies in a later window
    trace = opened(tmp_path, [slice_("k", 10, 5), *filler, HARDWARE])
    assert names(trace, "task") == ["k"] and len(trace.marker) == 5000


def test_string_times_are_exact_and_count_from_the_first(tmp_path: Path) -> None:
    trace = opened(tmp_path, [HARDWARE, *(slice_(f"k{i}", f"1778640000123456.{i * 12:03d}", 0.012) for i in range(80))])
    assert trace.meta["unix_zero_ns"] == 1778640000123456000
    assert trace.task["start"].tolist() == [i * 12 for i in range(80)]
    assert (trace.task["end"][:-1] == trace.task["start"][1:]).all()  # back to back, never overlapping


def test_float_times_keep_their_digits(tmp_path: Path) -> None:
    """A JSON number of 19 digits is read as text: a double would lose 250 ns."""
    trace = opened(tmp_path, '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1736408883704643.213,"dur":1}]')
    assert trace.meta["unix_zero_ns"] == 1736408883704643213


def test_links_by_connection_id_and_by_arrow(tmp_path: Path) -> None:
    api = process(2, "CANN")
    huge = 55340232229718589441
    trace = opened(
        tmp_path,
        [
            api,
            HARDWARE,
            slice_("Node@launch", 10, 4, 2, 7, args={"level": "node", "item_id": "k0", "connection_id": huge}),
            slice_("k0", 20, 5, args={"Task Type": "AI_CORE", "connection_id": huge}),
            slice_("AscendCL@aclrtMemcpyAsync", 30, 4, 2, 7, args={"level": "acl"}),
            {"ph": "s", "cat": "HostToDevice", "name": "x", "id": str(huge + 1), "pid": 2, "tid": 7, "ts": 34},
            # the head may be a little earlier than its tail, and stands before it here
            {"ph": "f", "bp": "e", "cat": "HostToDevice", "name": "x", "id": str(huge + 1), "pid": 3, "tid": 2, "ts": 33},
            slice_("MEMCPY_ASYNC", 33, 5, args={"Task Type": "PCIE_DMA_SQE", "size(B)": 64, "operation": "host to device"}),
        ],
    )
    assert names(trace, "api") == ["launch", "aclrtMemcpyAsync"]
    assert [events.LEVELS[i] for i in trace.api["level"]] == ["node", "acl"]
    assert (trace.api["correlation"] == trace.task["correlation"]).all() and len(set(trace.task["correlation"].tolist())) == 2
    assert [events.KINDS[k] for k in trace.task["kind"]] == ["kernel", "copy"]
    # the copy tells its call what it moved
    assert trace.api["bytes"].tolist() == [-1, 64] and trace.api["direction"].tolist() == [-1, events.DIRECTIONS.index("h2d")]


def test_kineto_categories(tmp_path: Path) -> None:
    trace = opened(
        tmp_path,
        {
            "baseTimeNanoseconds": 1700000000000000000,
            "traceEvents": [
                slice_("cudaLaunchKernel", 1.5, 2, 50, 51, cat="cuda_runtime", args={"correlation": 9, "External id": 4}),
                slice_("gemm", 5.25, 2, 0, 7, cat="kernel", args={"device": 0, "stream": 7, "correlation": 9}),
                slice_(
                    "Memcpy HtoD (Pinned -> Device)", 9, 2, 0, "stream 8", cat="gpu_memcpy", args={"bytes": 12, "correlation": 10}
                ),
                slice_("aten::mm", 1, 3, 50, 51, cat="cpu_op", args={"Sequence number": 3}),
                slice_("PyTorch Profiler (0)", 0, 99, "Spans", "PyTorch Profiler", cat="Trace"),
            ],
        },
    )
    assert names(trace, "task") == ["gemm", "Memcpy HtoD (Pinned -> Device)"] and names(trace, "api") == ["cudaLaunchKernel"]
    assert trace.task["stream"].tolist() == [7, 8] and trace.task["direction"].tolist() == [-1, events.DIRECTIONS.index("h2d")]
    assert trace.task["correlation"].tolist() == [9, 10] and names(trace, "marker") == ["aten::mm"]
    assert trace.task["start"].tolist() == [5250, 9000] and trace.meta["unix_zero_ns"] == 1700000000000000000


def test_begin_and_end_nest_on_their_thread(tmp_path: Path) -> None:
    def edge(ph: str, name: str, ts: int, tid: int = 1) -> Event:
        return {"ph": ph, "name": name, "pid": 1, "tid": tid, "ts": ts}

    some = [
        edge("B", "out", 0),
        edge("B", "in", 2),
        edge("B", "other", 3, 2),
        edge("E", "", 4),
        edge("E", "", 9),
        edge("E", "", 8, 3),
    ]
    trace = opened(tmp_path, some)
    rows = {n: (s, e) for n, s, e in zip(names(trace, "marker"), trace.marker["start"], trace.marker["end"], strict=True)}
    assert rows == {"out": (0, 9000), "in": (2000, 4000)}
    assert "1 ranges: they begin but do not end" in lost(trace) and "E without B" in lost(trace)


def test_devices_of_several_processes(tmp_path: Path) -> None:
    pids = [(5 << 10) | (14 << 5) | d for d in (0, 3)]
    head = [process(p, "Ascend Hardware") for p in pids]
    head += [{"ph": "M", "name": "process_labels", "pid": p, "tid": 0, "args": {"labels": "NPU"}} for p in pids]
    head += [{"ph": "M", "name": "process_sort_index", "pid": p, "tid": 0, "args": {"sort_index": 14}} for p in pids]
    trace = opened(tmp_path, [*head, slice_("a", 1, 1, pids[0]), slice_("b", 2, 1, pids[1])])
    assert trace.task["device"].tolist() == [0, 3]


def test_two_processes_under_one_pid_are_told_apart_by_their_arguments(tmp_path: Path) -> None:
    trace = opened(tmp_path, [process(3, "Ascend Hardware"), process(3, "Python"), slice_("k", 1, 1)])
    assert "two processes share it (Ascend Hardware, Python)" in lost(trace)


def test_rows_that_cannot_be_true_are_dropped_and_named(tmp_path: Path) -> None:
    good = [slice_("ok", 1000 + 20 * i, 10) for i in range(9)]
    bad = [slice_("weird", 1200, 7447680000000000), slice_("back", 1300, -4), slice_("lost0", 0, 0), slice_("none", None, 1)]
    trace = opened(tmp_path, [HARDWARE, *good, *bad, slice_("far", 4e16, 1)])
    assert names(trace, "task") == ["ok"] * 9 and (trace.task["end"] - trace.task["start"]).sum() == 90_000
    said = lost(trace)
    assert "1 task record: weird: implausible" in said and "longer than a week" in said
    assert "back: implausible: their duration is negative" in said
    assert "1 task record: lost0: they carry time 0" in said and "none: they carry no timestamp" in said
    assert "far: implausible: their time lies more than a year" in said


def test_a_cut_file_gives_its_whole_events(tmp_path: Path) -> None:
    whole = json.dumps({"traceEvents": [slice_(f"w{i}", i * 20, 15, args={"a": [{"b": i}]}) for i in range(43)]})
    last = whole.rindex('{"ph"')
    for cut in (last - 2, last, last + 1, last + 40, len(whole) - 3, len(whole) - 2, len(whole) - 1):
        trace = opened(tmp_path, whole[:cut])
        expected = 43 if cut >= len(whole) - 2 else 42
        assert len(trace.marker) == expected, cut
        if cut < len(whole) - 1:
            assert "truncated" in lost(trace), cut


def test_a_cut_gzip_file(tmp_path: Path) -> None:
    data = gzip.compress(json.dumps([slice_(f"w{i}", i, 1, args={"x": i * 7919 % 1000}) for i in range(3000)]).encode())
    path = tmp_path / "trace.json.gz"
    path.write_bytes(data[: len(data) // 2])
    trace = open_trace(path)
    assert 500 < len(trace.marker) < 3000 and "truncated" in lost(trace)
    path.write_bytes(data)
    assert len(open_trace(path).marker) == 3000


@pytest.mark.parametrize(
    "name",
    ['"C:\\new\\x"', '"tab\there"', '"line\nbreak"', '"\\x41"'],
    ids=["backslash", "tab", "newline", "hex"],
)
def test_badly_escaped_names_are_repaired(tmp_path: Path, name: str) -> None:
    text = f'[{{"ph":"X","name":{name},"pid":1,"tid":1,"ts":1,"dur":1}},{{"ph":"X","name":"b","pid":1,"tid":1,"ts":2,"dur":1}}]'
    trace = opened(tmp_path, text)
    assert len(trace.marker) == 2 and "repaired" in lost(trace)


def test_damage_in_the_middle_costs_only_the_event_it_hits(tmp_path: Path) -> None:
    texts = [json.dumps(slice_(f"w{i}", i, 1, args={"i": i})) for i in range(2000)]
    texts[1000] = texts[1000].replace('"ts"', '"ts')
    trace = opened(tmp_path, "[" + ",".join(texts) + "]")
    assert 1998 <= len(trace.marker) <= 1999 and "damaged in 1 place" in lost(trace)
    assert names(trace, "marker")[-1] == "w1999"


def test_odd_types_of_fields(tmp_path: Path) -> None:
    some = [
        slice_(7, "5", "2", "proc", "main thread"),
        slice_("b", 6, None),
        slice_("c", [], {}),
        5,
        None,
        slice_("d", 9, 1, args=3),
    ]
    trace = opened(tmp_path, some)
    assert names(trace, "marker") == ["7", "b", "d"]
    assert "2 entries" in lost(trace) and "no timestamp" in lost(trace)


def test_counters(tmp_path: Path) -> None:
    def counter(name: str, args: object) -> Event:
        return {"ph": "C", "name": name, "pid": 3, "tid": 0, "ts": 1, "args": args}

    some = [
        counter("HBM 0/Read", {"Read(MB/s)": 5.5}),
        counter("bw", {"value": 2, "acc_id": 4}),
        counter("mem", {"a": 1, "b": 2}),
        counter("x", []),
    ]
    trace = opened(tmp_path, [HARDWARE, *some])
    assert dict(zip(names(trace, "counter"), trace.counter["value"].tolist(), strict=True)) == {
        "HBM 0/Read": 5.5,
        "bw 4": 2.0,
        "mem/a": 1.0,
        "mem/b": 2.0,
    }


def test_collectives_with_only_operators_have_no_parts(tmp_path: Path) -> None:
    trace = opened(
        tmp_path, [process(4, "Communication"), slice_("hcom_allReduce__0", 3, 90, 4, 0, args={"connection_id": 90000})]
    )
    assert trace.comm["level"].tolist() == [events.COMM_LEVELS.index("op")] and trace.comm["part"].tolist() == [-1]


def test_an_empty_list_is_a_trace_without_rows(tmp_path: Path) -> None:
    trace = opened(tmp_path, "[]")
    assert trace.span() == (0, 0) and not trace.marker


@pytest.mark.parametrize("text", ["", "{}", "[1, 2]", '{"a": 1}', "hello", "\x00" * 100, "[[[["])
def test_what_is_no_trace_says_so(tmp_path: Path, text: str) -> None:
    with pytest.raises(Unreadable) as error:
        opened(tmp_path, text)
    assert "trace.json" in error.value.what and error.value.next


def test_a_window_border_inside_nested_lists(tmp_path: Path) -> None:
    """Arguments that look like events do not split an event, wherever the window ends."""
    nested = [{"name": "inner", "args": {}}, {"name": "inner2"}] * 400
    some = [slice_(f"w{i}", i, 1, args={"list": nested}) for i in range(60)]
    trace = opened(tmp_path, some)
    assert len(trace.marker) == 60 and "damaged" not in lost(trace)
    assert np.array_equal(trace.marker["start"], np.arange(60) * 1000)


def test_ids_that_are_objects_or_lists_are_ids_as_any_text(tmp_path: Path) -> None:
    """Found by damaging files: such values are no keys of a table."""
    odd: Any
    for odd in ({"a": []}, [], [[]], None, 1.5):
        events = [
            HARDWARE, slice_("k", 10, 5), slice_("j", 20, 5, pid=odd), slice_("i", 30, 5, args={"connection_id": odd}),
            {"ph": "s", "cat": "HostToDevice", "id": odd, "name": "x", "pid": odd, "tid": odd, "ts": 10},
            {"ph": "B", "name": "b", "pid": odd, "tid": odd, "ts": 11}, {"ph": "E", "pid": odd, "tid": odd, "ts": 12},
        ]  # fmt: skip
        assert "k" in names(opened(tmp_path, events), "task")
