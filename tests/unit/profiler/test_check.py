"""What `msprof check` finds in a file: each defect in a file made for it, counted exactly, and nothing in sound files."""

from __future__ import annotations

import gzip
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from profiler.check import say
from profiler.check.defect import Checkup, Defect
from profiler.check.run import OF_FILES, check

Event = dict[str, Any]
UNIX = 1_778_640_000_000_000  # us: 2026


def kernel(number: int, ts: Any, dur: Any = 10, **more: Any) -> Event:
    return {"ph": "X", "name": f"k{number}", "pid": 3, "tid": 2, "ts": ts, "dur": dur, **more}


def named(pid: Any = 3, name: str = "Ascend Hardware") -> Event:
    return {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}


def arrow(id: Any, s: float, f: float) -> list[Event]:
    ends = (("s", s), ("f", f))
    return [{"ph": ph, "name": "launch", "cat": "HostToDevice", "id": id, "pid": 3, "tid": 2, "ts": ts} for ph, ts in ends]


def sound() -> list[Event]:
    return [named(), *(kernel(n, 1000 + 20 * n) for n in range(10)), *arrow("7", 1001, 1021)]


@pytest.fixture
def checked(tmp_path: Path) -> Callable[[list[Event]], Checkup]:
    def run(events: list[Event]) -> Checkup:
        path = tmp_path / "trace.json"
        path.write_text(json.dumps(events))
        return check(path)

    return run


def only(found: Checkup, id: str) -> Defect:
    assert [d.id for d in found.defects] == [id]
    return found.defects[0]


def test_a_sound_file_has_no_defects(checked: Callable[[list[Event]], Checkup]) -> None:
    found = checked(sound())
    assert found.defects == () and not found.wrong
    (held,) = found.files
    assert (held.slices, held.arrows, held.processes, held.threads, held.span) == (10, 1, 1, 1, 190_000)


@pytest.mark.parametrize(("more", "id", "count", "facts"), [
    ([kernel(90, 0, 0), kernel(91, 0, 0)], "no_time", 2, {}),
    ([kernel(90, "soon")], "unreadable_time", 1, {}),
    ([kernel(90, 2000, -5)], "negative_duration", 1, {"worst_ns": 5000}),
    ([kernel(90, 2000, 30 * 86400e6)], "endless", 1, {"days": 30}),
    ([kernel(90, 1005, 10)], "overlap", 1, {"worst_ns": 5000}),  # k0 runs from 1000 to 1010
    ([kernel(3, 1060)], "duplicate", 1, {}),
    ([{"ph": "B", "name": "open", "pid": 3, "tid": 9, "ts": 1000}], "no_end", 1, {}),
    ([{"ph": "E", "pid": 3, "tid": 9, "ts": 1000}], "no_begin", 1, {}),
    (arrow("8", 1002, 1022)[:1], "no_head", 1, {"of": 2}),
    (arrow("8", 1002, 1022)[1:], "no_tail", 1, {"of": 2}),
    ([*arrow("8", 1002, 1022), *arrow("8", 1003, 1023)], "shared_id", 1, {}),
    (arrow("8", 1150, 1050), "reversed", 1, {"worst_ns": 100_000, "of": 2}),
    ([named(3, "other")], "shared_pid", 1, {"pid": 3, "names": "Ascend Hardware, other"}),
    ([kernel(90, 1000, pid=4)], "nameless", 1, {}),
    ([kernel(90, 3_700_000_000)], "clock_jump", 1, {"gap_ns": 3_700_000_000_000 - 1_190_000, "before": 10, "after": 1}),
])  # fmt: skip
def test_one_defect(
    checked: Callable[[list[Event]], Checkup], more: list[Event], id: str, count: int, facts: dict[str, object]
) -> None:
    metadata = [e for e in more if e["ph"] == "M"]
    found = checked([*metadata, *sound(), *(e for e in more if e["ph"] != "M")][::1])
    defect = only(found, id)
    assert defect.count == count and found.wrong
    shown = dict(defect.facts)
    if "names" in shown:
        assert set(str(shown.pop("names")).split(", ")) == set(str(facts.pop("names")).split(", "))
    assert shown == facts


def test_texts_at_todays_time_overlap_as_doubles(checked: Callable[[list[Event]], Checkup]) -> None:
    # a double of 1.78e15 us holds quarters: starts 0.00 0.12 0.24 become 0.00 0.00 0.25, so k1 lies on k0 and k2 is 0.25 later
    found = checked([named(), *(kernel(n, f"{UNIX}.{120 * n:03d}", 0.1) for n in range(3))])
    defect = only(found, "text_times")
    assert (defect.count, defect.facts["step_ns"], defect.facts["broken"]) == (3, 250, 1)


def test_times_a_writer_has_rounded(checked: Callable[[list[Event]], Checkup]) -> None:
    found = checked([named(), *(kernel(n, UNIX + n * 2.25, 1) for n in range(8))])
    defect = only(found, "rounded_time")
    assert (defect.count, defect.facts["step_ns"]) == (8, 250)


def test_ids_that_doubles_cannot_tell_apart(checked: Callable[[list[Event]], Checkup]) -> None:
    big = 1 << 60
    found = checked([*sound(), *arrow(str(big), 1001, 1021), *arrow(str(big + 1), 1002, 1022), *arrow(str(1 << 65), 1003, 1023)])
    defect = only(found, "large_id")
    assert (defect.count, defect.facts["merged"], defect.facts["beyond"]) == (3, 1, 1)


@pytest.mark.parametrize(("scale", "unit"), [(1e-6, "s"), (1e-3, "ms"), (1000, "ns")])
def test_times_in_another_unit(checked: Callable[[list[Event]], Checkup], scale: float, unit: str) -> None:
    found = checked([named(), *(kernel(n, round((UNIX + 40_000_000 * n) * scale), 1) for n in range(3))])
    assert {d.id: d.facts.get("unit") for d in found.defects}["wrong_unit"] == unit


def test_a_file_cut_in_an_event(tmp_path: Path) -> None:
    text = json.dumps({"traceEvents": [named(), *(kernel(n, 100 * n + 1) for n in range(43))]})
    (tmp_path / "cut.json").write_text(text[: text.index('"k42"') + 20])
    defect = only(check(tmp_path / "cut.json"), "truncated")
    assert defect.facts["slices"] == 42
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(json.dumps(sound() * 400).encode())[:-200])
    assert "cut_archive" in {d.id for d in check(tmp_path / "cut.json.gz").defects}


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9])
def test_a_short_archive_that_is_cut_tells_what_was_unpacked(tmp_path: Path, kept: float) -> None:
    """Its whole text is less than one block of reading."""
    packed = gzip.compress(json.dumps([kernel(n, 100 * n + 1) for n in range(60)]).encode())
    (tmp_path / "cut.json.gz").write_bytes(packed[: int(len(packed) * kept)])
    found = [d for d in check(tmp_path / "cut.json.gz").defects if d.id == "cut_archive"]
    assert len(found) == 1 and 0 <= found[0].facts["events"] < 60


def test_an_archive_of_which_nothing_can_be_unpacked(tmp_path: Path) -> None:
    packed = gzip.compress(json.dumps([kernel(n, 100 * n + 1) for n in range(60)]).encode())
    (tmp_path / "bad.json.gz").write_bytes(packed[:10] + b"\xff" * 40 + packed[50:])
    assert {d.id for d in check(tmp_path / "bad.json.gz").defects} == {"nothing_unpacked"}
    (tmp_path / "crc.json.gz").write_bytes(packed[:-8] + b"\0" * 8)
    assert [d.id for d in check(tmp_path / "crc.json.gz").defects].count("cut_archive") == 1


def test_json_that_is_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "page.json"
    path.write_text('{"error": "not found"}')
    assert {d.id for d in check(path).defects} == {"not_events"}


def test_a_folder_of_ranks(tmp_path: Path) -> None:
    for rank, at in ((0, 1000), (2, 1000)):
        body = {"traceEvents": [named(), *(kernel(n, at + 20 * n) for n in range(5))],
                "distributedInfo": {"rank": rank, "world_size": 4}}  # fmt: skip
        (tmp_path / f"rank{rank}.json").write_text(json.dumps(body))
    (tmp_path / "rank3.json").write_text("")
    found = {d.id: d for d in check(tmp_path).defects}
    assert found["empty_file"].examples == ("rank3.json",)
    assert found["rank_missing"].examples == ("1", "3") and found["rank_missing"].facts["world"] == 4


def test_machines_with_clocks_of_their_own(tmp_path: Path) -> None:
    for number, at in ((0, 5_000_000), (1, 98_765_432_100)):
        (tmp_path / f"node{number}.json").write_text(json.dumps([named(), *(kernel(n, at + 20 * n) for n in range(5))]))
    defect = only(check(tmp_path), "clocks_apart")
    assert defect.facts["gap_ns"] == (98_765_432_100 - 5_000_000 - 90) * 1000


def test_raw_and_mixed_folders(tmp_path: Path) -> None:
    raw = tmp_path / "PROF_000001_20261202164829001_ABCDEFGHIJKLMNOP"
    (raw / "device_0" / "data").mkdir(parents=True)
    (raw / "device_0" / "data" / "stars_soc.data.0.slice_0").write_bytes(b"\0" * 64)
    assert {d.id for d in check(raw).defects} == {"raw_only", "not_ended"}
    mixed = tmp_path / "two"
    mixed.mkdir()
    for stamp in ("20260101000000", "20260101000001"):
        (mixed / f"msprof_{stamp}.json").write_text(json.dumps(sound()))
    (mixed / "msprof_slice_0_20260101000001.json").write_text("[]")
    (mixed / "msprof_slice_2_20260101000001.json").write_text("[]")
    found = {d.id: d for d in check(mixed).defects}
    assert found["several_exports"].facts["newest"] == "20260101000001" and found["slice_missing"].examples == ("1",)


def test_every_defect_speaks_both_languages() -> None:
    tables = [say.table(lang)["defect"] for lang in ("en", "zh")]
    assert tables[0].keys() == tables[1].keys()
    for one, other in zip(*(t.values() for t in tables), strict=True):
        for part in ("what", "views", "do"):
            fields = [{w.partition("}")[0].partition(":")[0] for w in t[part].split("{")[1:]} for t in (one, other)]
            assert fields[0] == fields[1], part
    assert len({f.__name__ for f in OF_FILES}) == len(OF_FILES)
    assert tomllib.loads((Path(say.__file__).parent / "texts" / "zh.toml").read_text(encoding="utf-8"))["word"]["error"] == "错误"


def test_json_has_the_same_facts(checked: Callable[[list[Event]], Checkup]) -> None:
    found = checked([*sound(), kernel(90, 2000, -5)])
    made = say.to_json(found, "zh")
    assert made["schema"] == 1 and made["findings"][0]["id"] == "negative_duration"
    assert "5.00 us" in made["findings"][0]["claim"] and made["files"][0]["slices"] == 10
    assert json.loads(json.dumps(made)) == made
    assert any("k90" in line and line.startswith("ERROR: trace.json: ") for line in say.lines(found))
