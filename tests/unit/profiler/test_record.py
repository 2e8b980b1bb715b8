"""Captures being written: what a storage limit takes, what a full disk leaves, memory that stays the same, names after a restart."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu import events
from profiler.read.own import read
from profiler.record import capture as captures
from profiler.record.capture import Capture
from profiler.record.collection import Collection, asked, of
from profiler.record.layout import FOLDER, record
from profiler.record.room import SHARE
from profiler.record.sink import CaptureSink

API = [c.name for c in events.TABLES["api"][:-1]]
TASK = [c.name for c in events.TABLES["task"][:-1]]


def api(write, n: int, name: int = -1) -> None:
    """The n-th call: it starts at n us and takes one."""
    row = dict.fromkeys(API, -1) | {"start": n * 1000, "end": n * 1000 + 1000, "thread": 0, "name": name, "level": 0}
    write(*row.values())


def task(write, n: int) -> None:
    row = dict.fromkeys(TASK, -1) | {"start": n * 1000, "end": n * 1000 + 500, "device": 0, "stream": 0, "kind": 2}
    write(*row.values())


def size(prof: Path) -> int:
    return sum(p.stat().st_size for p in (prof / FOLDER).glob("*.seg"))


def test_beyond_the_storage_limit_the_oldest_rows_go_and_the_capture_says_so(tmp_path: Path) -> None:
    limit, calls = 1 << 20, 60_000
    made = Capture(tmp_path, Collection(storage_limit=limit))
    kernel = made.writer("kernel")
    kernel(*[0] * (len(events.TABLES["kernel"]) - 1))
    write = made.writer("api")
    for n in range(calls):
        api(write, n)
    made.close()
    assert size(made.prof) <= limit
    rows = limit // SHARE // record("api").size  # of one segment
    trace = read(made.prof)
    kept = len(trace.api)
    assert kept > (limit - 2 * limit // SHARE) // record("api").size - rows  # no more than needed went
    assert trace.api["start"].tolist() == [n * 1000 for n in range(calls - kept, calls)]
    dropped = json.loads((made.folder / "meta.json").read_text())["dropped"]
    assert dropped == {"api": calls - kept} and dropped["api"] % rows == 0
    (said,) = [m for m in trace.missing if "storage limit" in m.why]
    assert said.what == f"everything before {(calls - kept) / 1e6:.6f} s ({calls - kept} rows of api)"
    assert (made.folder / "kernel.0000.seg").is_file()


def test_where_old_calls_are_gone_older_tasks_are_not_shown_either(tmp_path: Path) -> None:
    made = Capture(tmp_path, Collection(storage_limit=1 << 20))
    calls, tasks = made.writer("api"), made.writer("task")
    for n in range(30_000):
        api(calls, n)
        if n % 100 == 0:
            task(tasks, n)
    made.close()
    trace = read(made.prof)
    assert 0 < len(trace.task) < 300 and int(trace.task["start"].min()) >= int(trace.api["start"].min())


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["api", "task", "marker"]), st.integers(1, 900)), max_size=30))
def test_what_is_left_is_always_the_end_of_each_table(tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[str, int]]) -> None:
    made = Capture(tmp_path_factory.mktemp("limit"), Collection(storage_limit=128 << 10))
    written = dict.fromkeys(("api", "task", "marker"), 0)
    for table, count in runs:
        write = made.writer(table)
        for _ in range(count):
            write(written[table], *[-1] * (len(events.TABLES[table]) - 2))
            written[table] += 1
    made.close()
    facts = json.loads((made.folder / "meta.json").read_text())
    for table, total in written.items():
        dtype = np.dtype([(c.name, {"q": "<i8", "i": "<i4", "b": "i1", "d": "<f8"}[c.code]) for c in events.TABLES[table]])
        rows = [np.fromfile(p, dtype) for p in sorted(made.folder.glob(f"{table}.*.seg"))]
        left = np.concatenate([r["start"][r["ok"] == 1] for r in rows]).tolist() if rows else []
        assert left == list(range(facts.get("dropped", {}).get(table, 0), total))


def test_damaged_rows_are_left_out_and_the_others_put_in_order(tmp_path: Path) -> None:
    made = Capture(tmp_path, Collection())
    write = made.writer("task")
    for n in (2, 0, 1, 3):
        row = dict.fromkeys(TASK, -1) | {"start": n * 1000, "end": n * 1000 + 500, "device": 0, "stream": 0, "kind": 2}
        row |= {"end": 10} if n == 1 else {"kind": 99} if n == 3 else {}
        write(*row.values())
    mark = made.writer("marker")
    for n in (5, 4):
        mark(n, n, 0, 0, -7, -1, -1, -1, 2)
    made.close()
    trace = read(made.prof)
    assert trace.task["start"].tolist() == [0, 2000]
    assert trace.marker["start"].tolist() == [4, 5] and trace.marker["name"].tolist() == [-1, -1]
    assert [m.what for m in trace.missing] == ["2 rows of task"]


def test_columns_stated_wrongly_are_read_as_this_version_writes_them_and_absent_ones_are_unknown(tmp_path: Path) -> None:
    made = Capture(tmp_path, Collection())
    api(made.writer("api"), 7)
    task(made.writer("task"), 7)
    made.close()
    path = made.folder / "meta.json"
    facts = json.loads(path.read_text())
    facts["tables"]["api"][1] = ["end", "q"]
    facts["tables"]["task"][0][2] = True  # a time that would be looked up as a text
    last = facts["tables"]["kernel"].pop(-2)[0]
    path.write_text(json.dumps(facts))
    trace = read(made.prof)
    assert trace.api["start"].tolist() == [7000] and last != "ok"
    assert trace.task["start"].tolist() == [7000]
    assert [m.what for m in trace.missing] == ["the columns of api", "the columns of task"]


FULL = """
import resource, signal, sys
from pathlib import Path
from profiler.record.capture import Capture
from profiler.record.collection import Collection
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
made = Capture(Path(sys.argv[1]), Collection())
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
write = made.writer("marker")
for n in range(3000):
    name = made.text(f"mark {n:04} " + "x" * 90)
    write(n, n, 0, 0, name, -1, -1, -1, 2)
"""


def test_a_text_that_does_not_fit_leaves_all_others_their_numbers(tmp_path: Path) -> None:
    """A write that is cut by a full disk would give every later text a wrong number."""
    subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], check=True)  # not closed: as after os._exit
    (prof,) = tmp_path.iterdir()
    trace = read(prof)
    fitting = 200_000 // (4 + 100)
    names = [trace.strings[int(n)][:9] for n in trace.marker["name"]]
    assert names == [f"mark {n:04}" if n < fitting else "" for n in range(3000)]
    assert any("rows of strings" in m.what and "disk was full" in m.why for m in trace.missing)


def test_texts_remembered_are_few_and_equal_ones_stay_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captures, "MOST_TEXTS", 3)
    made = Capture(tmp_path, Collection())
    write = made.writer("api")
    for n, name in enumerate(["a", "b", "c", "d", "a", "e", "a"]):
        api(write, n, made.text(name))
    made.close()
    assert made.texts > 5  # "a" was written again
    trace = read(made.prof)
    assert [trace.strings[int(n)] for n in trace.api["name"]] == ["a", "b", "c", "d", "a", "e", "a"]
    assert int(trace.api_named("a").sum()) == 3


def test_names_that_a_cut_file_does_not_have_are_no_names(tmp_path: Path) -> None:
    made = Capture(tmp_path, Collection())
    write = made.writer("api")
    for n in range(4):
        api(write, n, made.text(f"call{n}"))
    made.close()
    os.truncate(made.folder / "strings.bin", 2 * struct.calcsize("<I") + len("call0call1"))
    assert read(made.prof).api["name"].tolist() == [0, 1, -1, -1]


LONG = """
import sys
from pathlib import Path
from profiler.record import capture
from profiler.record.capture import Capture
from profiler.record.collection import Collection
capture.MOST_TEXTS = 1 << 14
def anonymous():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon"))
made = Capture(Path(sys.argv[1]), Collection(storage_limit=200 << 20))
write = made.writer("memory")
at = []
for n in range(200_000):
    site = made.text(f"buffer {n}")
    write(n, 0, 1, 1, 1, -1, n, 0, -1, site, 0)
    if n in (60_000, 199_999):
        at.append(anonymous())
print(at[1] - at[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_stays_the_same_however_long_a_run_is(tmp_path: Path) -> None:
    """140,000 further rows, each with a text of its own: 8 MB on disk, below 4 MB in memory with 16,000 texts remembered."""
    ran = subprocess.run([sys.executable, "-c", LONG, str(tmp_path)], check=True, capture_output=True, text=True)
    assert int(ran.stdout) < 4096  # kB; remembering all of them would take about 20,000


def test_a_forked_child_that_ends_does_not_end_its_parents_capture(tmp_path: Path) -> None:
    sink = CaptureSink(Capture(tmp_path, Collection()))
    child = os.fork()
    if child == 0:
        sink.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert json.loads((sink.main.folder / "meta.json").read_text())["ended_unix"] is None
    sink.close()
    assert json.loads((sink.main.folder / "meta.json").read_text())["ended_unix"] > 0


def test_a_collection_travels_as_one_variable_and_junk_is_passed_over() -> None:
    wanted = Collection(level="l0", storage_limit=5 << 20, devices=(1, 2), stacks=True)
    assert asked(wanted.variable()) == wanted
    assert Collection().variable() == {} and asked({"NPUSCOPE_COLLECTION": "{"}) == Collection()
    assert of({"level": 3, "devices": "x", "unknown": 1, "delay": 2}) == Collection(delay=2)


def test_on_a_really_full_disk_the_facts_go_over_the_former_ones(tmp_path: Path) -> None:
    """No room for a second meta.json: the final counts are there all the same."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a file system of its own cannot be mounted here")
    try:
        made = Capture(tmp_path, Collection())
        write = made.writer("api")
        for n in range(20_000):
            api(write, n)
            made.text(f"{n}" * 30)
        made.close()
        facts = json.loads((made.folder / "meta.json").read_text())
        kept = len(read(made.prof).api)
        assert facts["lost"]["api"] == 20_000 - kept > 0 and facts["lost"]["strings"] > 0 and facts["ended_unix"]
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)
