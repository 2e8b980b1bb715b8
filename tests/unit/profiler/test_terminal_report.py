"""The report people read: the facts it is made of, then one look at it at two widths and in two languages."""

from __future__ import annotations

import io
import json
import string

import pytest
from rich.cells import cell_len
from rich.console import Console

from profiler import texts
from profiler.analysis.rules import RULES
from profiler.findings import Breakdown, Checked, Evidence, Finding, Gain, ReplayQuality, Report
from profiler.report.json_report import to_json
from profiler.report.terminal import print_report

SYNC = Finding(
    "sync-every-submit",
    20,
    "host",
    "critical",
    {"call": "aclrtSynchronizeStream", "count": 99, "per_step": 1.0, "waited_ns": 9_000_000, "bubble_ns": 127_000},
    Gain(2_400_000, "replay", "high"),
    (Evidence("aclrtSynchronizeStream", 5, 10, "api", (3,), "infer.py:12"),),
    ("infer.py:12",),
)
EXPOSED = Finding(
    "copy-exposed",
    39,
    "copy",
    "warning",
    {
        "count": 99,
        "total_bytes": 59_609_088,
        "exposed_ns": 900_000,
        "hidden_share": 0.25,
        "gbps": 6.842,
        "pageable": 99,
        "blocking": 99,
    },
    Gain(500_000, "model", "medium", at_most=True),
)
BLOCKING = Finding(
    "blocking-copy",
    35,
    "copy",
    "note",
    {"call": "aclrtMemcpy", "count": 100, "total_bytes": 60_211_200, "blocked_ns": 9_200_000, "pageable": 100},
    None,
    cause="copy-exposed",
)
REPORT = Report(
    "PROF_000001",
    (1_000_000, 11_000_000),
    100,
    [SYNC, EXPOSED, BLOCKING],
    (
        Checked("graph", "fine"),
        Checked("host", "findings", 1, 2_400_000),
        Checked("copy", "findings", 1, 500_000),
        Checked("operator", "not_measured", why="no AI Core counters were recorded", switch="--aic-metrics=PipeUtilization"),
        Checked("communication", "not_measured", why="only one rank ran, without collectives"),
    ),
    (
        Breakdown(0, 0, 0, 80_000, 60_000, 0, 0, 0, 20_000, 5_000, 0, 15_000, 0, preparing=15_000, tail=5_000),
        Breakdown(0, 0, 1, 80_000, 70_000, 0, 0, 0, 10_000, 5_000, 0, 5_000, 0, preparing=15_000, tail=5_000),
    ),
    Gain(2_600_000, "model", "medium"),
    ReplayQuality(10_000_000, 9_900_000, 0.987),
    (("memory rows", "not collected"),),
    {"soc": "Ascend910B3", "simulated": True, "step_kind": "execution", "warm_up": 2},
)


def printed(width: int, lang: str = "en", report: Report = REPORT, **options: object) -> str:
    out = io.StringIO()
    print_report(report, Console(file=out, width=width, **options), lang)  # type: ignore[arg-type]
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_line_is_wider_than_the_console_or_ends_in_blanks(width: int, lang: str) -> None:
    lines = printed(width, lang).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert [line for line in lines if line != line.rstrip()] == []


ENGLISH = """\
PROF_000001  Ascend910B3 (simulated)  window 10.0 ms, 100 steps (model executions), 2 warm-up steps left out

1 framework and graph  fine
2 host                 1 finding, 2.40 ms
3 copies               1 finding, 500 us
4 operators            not measured because no AI Core counters were recorded; switch it on with
                       --aic-metrics=PipeUtilization
5 communication        not measured because only one rank ran, without collectives

Where the time goes, device 0, mean of 2 steps: 100 us
  before the first kernel   15.0 us    15 %
  computing                 65.0 us    65 %
  copies, not hidden        5.00 us   5.0 %
  idle                      10.0 us    10 %
  after the last kernel     5.00 us   5.0 %

Findings
1. critical  The host waits after every submission  [sync-every-submit]
   99 times aclrtSynchronizeStream follows a launch directly (1 a step) and the device has nothing to do for 127 us on
   average until the next launch.
   at: infer.py:12
   gain: 2.40 ms (24 %), by replay, confidence high
   do: Submit all work first and synchronise once per batch or at the end. Order streams with events, and give the next
   input a second buffer so that it does not overwrite the one in use.
2. warning  Input copies run while the device computes nothing  [copy-exposed]
   99 copies to the device (56.8 MiB at 6.84 GB/s) are not covered by computation for 900 us; 25 % of their time is
   hidden, 99 block the host, 99 use pageable memory.
   gain: at most 500 us (5.0 %), by replay with modelled costs, confidence medium
   do: Copy the next input while the device computes: aclrtMemcpyAsync on a copy stream, two input buffers, pinned
   memory (aclrtMallocHost), an event from the copy to the compute stream.
   seen again as: [blocking-copy] 100 copies through aclrtMemcpy (57.4 MiB) hold the host for 9.20 ms; 100 of them come
   from pageable memory.

All cures together: 2.60 ms (26 %), by replay with modelled costs, confidence medium. They overlap, so this is one
replay and not a sum.
Replay with median costs: 9.90 ms for 10.0 ms measured (1.0 % off); 99 % of the critical path is explained.

Not in the source:
  memory rows: not collected
"""


def test_what_an_english_reader_sees() -> None:
    assert printed(120).splitlines() == ENGLISH.splitlines()


def test_wide_terminals_are_not_filled_and_pipes_are() -> None:
    wide = printed(200, force_terminal=True, color_system=None)
    assert max(map(len, wide.splitlines())) <= 120
    assert "for 127 us on average until the next launch." in printed(10_000)


def test_what_a_chinese_reader_sees() -> None:
    text = printed(200, "zh")
    assert "2 主机      1 个问题，2.40 ms" in text
    assert "未测量，原因：没有采集到 AI Core 计数器；开启方法：--aic-metrics=PipeUtilization" in text
    assert "每次下发之后主机都做同步等待" in text


def test_colours_only_where_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[" not in printed(80)
    assert "\x1b[" in printed(80, force_terminal=True)
    monkeypatch.setenv("NO_COLOR", "1")
    coloured = printed(80, force_terminal=True)
    assert "\x1b[31m" not in coloured and "\x1b[1;31m" not in coloured


def test_without_findings() -> None:
    report = Report("x", (0, 0), 0, [], ())
    assert "No findings above the note level." in printed(80, report=report)


def test_json_says_the_same() -> None:
    made = json.loads(json.dumps(to_json(REPORT)))
    assert (made["schema"], made["tool"], made["source"]) == (1, "npuscope", "PROF_000001")
    assert made["missing"] == [{"what": "memory rows", "why": "not collected"}]
    first, second, third = made["findings"]
    assert first["gain"] == {
        "us": 2400.0,
        "share": 0.24,
        "method": "replay",
        "confidence": "high",
        "at_most": False,
        "on_all_us": None,
    }
    assert first["facts"]["bubble_ns"] == 127_000
    assert first["evidence"] == [
        {"label": "aclrtSynchronizeStream", "start_ns": 5, "end_ns": 10, "table": "api", "rows": [3], "site": "infer.py:12"}
    ]
    assert second["gain"]["at_most"] is True
    assert (third["cause"], third["gain"]) == ("copy-exposed", None)
    assert made["breakdown"][0] | {} == {
        "rank": 0,
        "device": 0,
        "step": 0,
        "stage_us": 80.0,
        "computing_us": 60.0,
        "communication_us": 0.0,
        "overlapped_us": 0.0,
        "communication_not_overlapped_us": 0.0,
        "free_us": 20.0,
        "copies_us": 5.0,
        "copies_hidden_us": 0.0,
        "idle_us": 15.0,
        "aicpu_us": 0.0,
        "preparing_us": 15.0,
        "tail_us": 5.0,
        "bubble_us": 0.0,
    }
    assert made["checklist"][3]["switch"] == "--aic-metrics=PipeUtilization"
    assert made["joint"]["us"] == 2600.0
    assert made["replay"]["explained"] == 0.987


def test_every_rule_has_texts_in_every_language_with_the_same_facts() -> None:
    def fields(text: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    tables = {lang: texts.table(lang)["finding"] for lang in texts.LANGUAGES}
    for rule in RULES:
        parts = {lang: tables[lang][rule.id] for lang in texts.LANGUAGES}
        for part in ("title", "claim", "advice", "why"):
            assert len({frozenset(fields(p[part])) for p in parts.values()}) == 1, (rule.id, part)
    groups = [
        {name: set(group) for name, group in texts.table(lang).items() if name not in ("finding", "why")}
        for lang in texts.LANGUAGES
    ]
    assert groups[0] == groups[1]


def test_every_reason_of_the_checklist_is_translated() -> None:
    import inspect

    from profiler.analysis import checklist

    source = inspect.getsource(checklist)
    for reason in texts.table("zh")["why"]:
        assert f'"{reason}"' in source


def test_facts_become_readable_by_their_unit() -> None:
    facts = {"a_ns": 1500, "b_bytes": 2048, "c_share": 0.0123, "d": 0.123456, "e": 12345, "f": "x", "g_share": 0.5}
    assert texts.readable(facts) == {
        "a_ns": "1.50 us",
        "b_bytes": "2.00 KiB",
        "c_share": "1.2 %",
        "d": "0.123",
        "e": "12,345",
        "f": "x",
        "g_share": "50 %",
    }


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(KeyError):
        texts.table("xx")
