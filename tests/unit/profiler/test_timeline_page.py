"""What stands in the page: the columns decoded again, texts that stay texts, and nothing that asks for a network."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np

from profiler.findings import Breakdown, Checked, Evidence, Finding, Gain, Report
from profiler.report.category import family
from profiler.report.charts import charts, plain
from profiler.report.scene import as_json, scene
from profiler.report.timeline import write_report, write_timeline
from profiler.report.verdict import gain_text
from profiler.trace import Trace
from tests.made import Made, ns
from tests.pages import Page, unpacked

HOSTILE = ("</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "line\u2028break", "nul\x00bell\x07",
           "\u202egnirts", "half \ud800 pair", "@@COLUMNS@@", "<!--", "x" * 10_000)


def small() -> Trace:
    made = Made()
    made.api("aclrtMemcpyAsync", 100, 110, correlation=7, bytes=4096, direction="h2d")
    made.api("aclrtSynchronizeStream", 110, 200, blocking=1)
    made.task("copy", 120, 140, correlation=7, bytes=4096, direction="h2d", stream=3, name="MEMCPY_ASYNC")
    made.task("kernel", 140, 180, name="MatMul_12", op_type="MatMulV2", stream=2, aic_mac_ratio=0.875)
    return made.trace()


def report_of(trace: Trace) -> Report:
    finding = Finding("sync-every-submit", 20, "host", "critical", {}, Gain(ns(50), "replay", "high", at_most=True),
                      (Evidence("the wait", ns(110), ns(200), "api", (1,), "a.py:3"),), ("a.py:3",))
    checklist = (Checked("graph", "fine"), Checked("host", "findings", 1, ns(50)),
                 Checked("communication", "not_measured", why="no collectives ran", switch="--hccl"))
    step = Breakdown(0, 0, 1, 60_000, 40_000, 0, 0, 0, 20_000, 20_000, 0, 0, 0)
    return Report("made", (ns(100), ns(200)), 1, [finding], checklist, (step,))


def texts(finding: Finding) -> tuple[str, str]:
    return f"claim of {finding.id}", "advice <b>plain</b>"


def test_bars_of_the_page_are_the_rows_of_the_trace() -> None:
    facts, blob = scene(small())
    assert facts["base"] == ns(100) and facts["latest"] == ns(100)
    assert [lane["title"] for lane in facts["lanes"]] == ["Thread 0", "Stream 2", "Stream 3", "Copies H2D"]
    assert [lane["depths"] for lane in facts["lanes"]] == [[0, 2], [2, 3], [3, 4], [4, 5]]
    columns = {n: unpacked(blob, e) for n, e in facts["columns"].items()}
    names = json.loads(unpacked(blob, facts["names"]))
    # start: from the base, within a depth as steps; the second call begins 10 us after the first.
    assert columns["start"].tolist() == [0, ns(10), ns(40), ns(20), ns(20)]
    assert columns["duration"].tolist() == [ns(10), ns(90), ns(40), ns(20), ns(20)]
    assert [names[i] for i in columns["name"]] == [
        "aclrtMemcpyAsync", "aclrtSynchronizeStream", "MatMul_12", "MEMCPY_ASYNC", "MEMCPY_ASYNC"]
    assert [names[i] for i in columns["category"]] == [
        "aclrtMemcpyAsync", "aclrtSynchronizeStream", "MatMulV2", "copy host to device", "copy host to device"]
    assert columns["row"].tolist() == [0, 1, 1, 0, 0]


def test_details_hold_what_the_source_had_and_nothing_else() -> None:
    facts, blob = scene(small())
    (task,) = [t for t in facts["tables"] if t["table"] == "task"]
    assert unpacked(blob, task["columns"]["correlation"]).tolist() == [7, -1]
    assert task["columns"]["direction"]["texts"] == ["h2h", "h2d", "d2h", "d2d"]
    assert "model" not in task["columns"] and "hf32" not in task["columns"]


def test_times_since_1970_lose_no_nanosecond() -> None:
    made = Made()
    made.api("a", 0, 1)
    trace = made.trace()
    trace.api = trace.api.with_columns(start=np.array([1_700_000_000_000_000_123]), end=np.array([1_700_000_000_000_000_124]))
    facts, blob = scene(trace)
    assert facts["base"] == 1_700_000_000_000_000_123
    assert unpacked(blob, facts["columns"]["duration"]).tolist() == [1]


def test_processes_have_lanes_of_their_own_on_one_clock() -> None:
    first, second = small(), small()
    first.meta |= {"ranks": [0], "unix_zero_ns": 1_000_000}
    second.meta |= {"ranks": [1], "unix_zero_ns": 1_050_000}
    first.parts.append(second)
    facts, blob = scene(first)
    assert [lane["group"] for lane in facts["lanes"]] == [
        "Rank 0 · Host", *["Rank 0 · Device 0"] * 3, "Rank 1 · Host", *["Rank 1 · Device 0"] * 3]
    start = unpacked(blob, facts["columns"]["start"])
    second_host = facts["lanes"][4]["depths"][0]
    assert start[second_host] - start[0] == 50_000


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    made = Made()
    for n, name in enumerate(HOSTILE):
        made.task("kernel", n * 10, n * 10 + 5, name=name, op_type=name)
        made.api(name, n * 10, n * 10 + 5)
        made.counter(name, n, 1.0)
    page = write_timeline(made.trace(), None, tmp_path / "page.html", texts, title=HOSTILE[0])
    read = Page(page)
    assert read.elements.count("script") == 5 and "img" not in read.elements
    facts = read.facts
    assert facts["title"] == HOSTILE[0]
    assert HOSTILE[1] in [curve["title"] for curve in facts["curves"]]
    names = json.loads(unpacked(read.texts["columns"], facts["names"]))
    kept = {n.replace("\ud800", "?") for n in HOSTILE}
    assert kept <= set(names)


def test_the_critical_path_is_kept_in_its_order() -> None:
    facts, blob = scene(small(), path=(("api", 0), ("task", 1), ("api", 1)))
    assert [facts["path"]["tables"][t] for t in unpacked(blob, facts["path"]["table"])] == ["api", "task", "api"]
    assert unpacked(blob, facts["path"]["row"]).tolist() == [0, 1, 1]


def test_json_cannot_end_its_element() -> None:
    text = as_json(["</script>", "<!--", "\u2028\u2029&"])
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == ["</script>", "<!--", "\u2028\u2029&"]


def test_the_page_asks_for_nothing_outside(tmp_path: Path) -> None:
    read = Page(write_timeline(small(), None, tmp_path / "page.html", texts))
    assert read.addresses == []
    assert "link" not in read.elements


def test_charts_can_be_left_out(tmp_path: Path) -> None:
    trace = small()
    light = write_timeline(trace, report_of(trace), tmp_path / "light.html", texts, charts=False)
    full = write_timeline(trace, report_of(trace), tmp_path / "full.html", texts)
    assert light.stat().st_size < 200_000
    assert 1_500_000 < full.stat().st_size < 2_600_000
    assert json.loads(Page(light).texts["figures"]) == []


def test_findings_count_from_the_page_base(tmp_path: Path) -> None:
    trace = small()
    page = write_report(trace, report_of(trace), tmp_path / "report.html", texts, charts=False)
    facts = Page(page).facts
    assert facts["form"] == "report" and facts["window"] == [0, ns(100)]
    (finding,) = facts["report"]["findings"]
    assert (finding["claim"], finding["advice"]) == ("claim of sync-every-submit", "advice <b>plain</b>")
    assert finding["evidence"] == [
        {"label": "the wait", "start": ns(10), "end": ns(100), "table": "api", "rows": [1], "site": "a.py:3"}]
    assert [line["text"] for line in facts["report"]["checklist"]] == [
        "fine", "1 finding, 50.0 us", "not measured because no collectives ran; switch it on with --hccl"]


def test_gains_in_words() -> None:
    assert gain_text(None) == ""
    assert gain_text(Gain(ns(3200), "replay", "high")) == "3.20 ms, replayed with measured costs, high confidence"
    assert gain_text(Gain(0, "bound", "low", True, ns(1000))) == (
        "at most 0 ns, an upper bound, low confidence, on this rank alone; 1.00 ms if all ranks change alike")
    assert gain_text(Gain(ns(3200), "model", "low", True), "zh") == "至多 3.20 ms，由代价模型估算，置信度低"


def test_families_drop_only_trailing_numbers() -> None:
    assert [family(n) for n in ("MatMul_12", "hcom_allReduce__204_0", "aten::add", "Conv2D", "123")] == [
        "MatMul", "hcom_allReduce", "aten::add", "Conv2D", "123"]


def test_chart_sums_count_only_the_window() -> None:
    trace = small()
    report = report_of(trace)
    half = Report("made", (ns(160), ns(180)), 1, [], (), report.breakdown)
    operators, calls, steps = charts(trace, half)
    assert operators["figure"]["data"][0]["x"] == [0.02]  # MatMulV2 runs 140..180 us: 20 us of it inside, in ms
    assert calls["figure"]["layout"]["yaxis"]["ticktext"] == ["aclrtSynchronizeStream"]
    assert [bar["y"] for bar in steps["figure"]["data"]] == [[0.04], [0.0], [0.02], [0.0]]


def test_chart_labels_are_escaped_for_plotly() -> None:
    assert plain("<b>&amp;") == "&lt;b&gt;&amp;amp;"
    assert len(plain("x" * 500)) == 32


def test_an_empty_trace_makes_a_page(tmp_path: Path) -> None:
    page = write_timeline(Trace(tmp_path / "nothing"), None, tmp_path / "page.html", texts)
    facts = Page(page).facts
    assert (facts["bars"], facts["lanes"], facts["window"]) == (0, [], [0, 0])
