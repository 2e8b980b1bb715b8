"""What a report says of idle time, of what could not be judged, of gains on other ranks, and of the views."""

from __future__ import annotations

import io
import json

import pytest
from rich.cells import cell_len
from rich.console import Console

from profiler import texts
from profiler.analysis import analyze
from profiler.findings import Breakdown, Gain, Idle, Report, Unjudged, View
from profiler.report.json_report import to_json
from profiler.report.terminal import print_report
from tests.made import Made
from tests.unit.profiler.eager import Eager, bare


def printed(report: Report, width: int = 200, lang: str = "en", **options: object) -> str:
    out = io.StringIO()
    print_report(report, Console(file=out, width=width, **options), lang)  # type: ignore[arg-type]
    return out.getvalue()


STEP = Breakdown(0, 0, 0, 100_000, 60_000, 0, 0, 0, 40_000, 0, 0, 40_000, 0)


def idle(time: int, host: int) -> Report:
    reasons = {"user": host, "dispatch": time - host}
    return Report("x", (0, 100_000), 0, [], (), (STEP,), idle=(Idle(0, time, host, reasons),))


class TestIdle:
    def test_host_bound(self) -> None:
        text = printed(idle(40_000, 30_000))
        assert "host-bound: idle for 40.0 us (40 % of the window" in text
        assert "75 % of it because the host had launched nothing yet (user code 30.0 us, dispatch 10.0 us)" in text

    def test_idle_for_the_device_s_own_reasons(self) -> None:
        text = printed(idle(40_000, 10_000))
        assert "host-bound" not in text
        assert "idle for 40.0 us (40 % of the window" in text

    def test_little_idle_time_is_not_explained(self) -> None:
        assert "idle for" not in printed(idle(2_000, 2_000))
        assert "host-bound" not in printed(idle(9_000, 9_000))

    def test_a_launch_bound_trace_says_so(self) -> None:
        """Kernels of 5 every 44: 39 of 44 idle, and no more than a launch ahead of each."""
        run = Eager()
        run.begin()
        for _ in range(60):
            run.launch("Mul", 5, host=44)
        run.end()
        text = printed(analyze(run.made.trace()))
        assert "host-bound: idle for 2.34 ms (89 % of the window" in text

    def test_without_recorded_launches_nobody_is_blamed(self) -> None:
        report = Report("x", (0, 100_000), 0, [], (), (STEP,), idle=(Idle(0, 40_000, 0, {"unlinked": 40_000}),))
        assert "why is not known" in printed(report)

    def test_in_chinese(self) -> None:
        assert "host-bound（主机下发受限）：空闲 40.0 us" in printed(idle(40_000, 30_000), lang="zh")


class TestNotJudged:
    def test_what_is_missing_and_how_to_collect_it(self) -> None:
        report = Report("x", (0, 1), 0, [], (), unjudged=(Unjudged("operators", "--task-time=l1", ("cast-storm", "zero-fill")),))
        text = printed(report)
        assert "Not judged:\n  needs operator types (switch it on with --task-time=l1): cast-storm, zero-fill\n" in text
        assert to_json(report)["not_judged"] == [
            {"needs": "operators", "switch": "--task-time=l1", "rules": ["cast-storm", "zero-fill"]}
        ]

    def test_a_file_of_kernels_has_no_host_calls(self) -> None:
        report = analyze(bare([("MatMulV2", 100.0, {"in_shapes": "8,8", "in_formats": "ND"})] * 5).trace())
        lacks = {u.need: u.rules for u in report.unjudged}
        assert set(lacks) == {"launches", "calls", "counters", "conflicts", "cache", "clock"}
        assert "online-compile" in lacks["calls"] and "single-op-mode" in lacks["launches"]

    def test_a_whole_capture_lacks_nothing_the_graph_rules_need(self) -> None:
        run = Eager()
        for _ in range(4):
            run.begin()
            run.launch("MatMulV2", 100, in_shapes="8,8", in_formats="ND")
            run.end()
        lacks = {u.need for u in analyze(run.made.trace()).unjudged}
        assert not lacks & {"tasks", "calls", "launches", "operators", "shapes", "formats"}

    def test_a_rule_that_speaks_in_a_weaker_form_lacks_nothing(self) -> None:
        made = Made()
        made.meta["tables"] = {
            "api_statistic": {"name": ["aclopCompile"], "level": ["acl"], "count": [30], "total": [60_000_000]}
        }
        report = analyze(made.trace())
        assert [f.id for f in report.findings] == ["online-compile"]
        assert "online-compile" not in {rule for u in report.unjudged for rule in u.rules}
        assert "gain: at most 60.0 ms, by upper bound, confidence low" in printed(report)


def test_gains_here_and_on_all_ranks() -> None:
    gain = Gain(0, "replay", "high", on_all_ns=5_000)
    assert texts.gain(gain, 100_000) == ("here alone 0 ns (0 %), on all ranks alike 5.00 us (5.0 %), by replay, confidence high")


ROWS = tuple({"op_type": f"Op{n}", "count": n, "total_ns": 1000 * n, "efficiency_share": None} for n in range(20))


class TestViews:
    report = Report("x", (0, 1), 0, [], (), views=(View("operators", ROWS, 20),))

    def test_columns_line_up_and_the_rest_is_counted(self) -> None:
        lines = printed(self.report).splitlines()
        at = lines.index("Operators (V11)")
        assert lines[at + 1] == "  operator  count    total  efficiency"
        assert lines[at + 4] == "  Op2           2  2.00 us           -"
        assert lines[-1] == "  ... and 5 more rows"

    @pytest.mark.parametrize("lang", ["en", "zh"])
    def test_a_narrow_console_cuts_lines(self, lang: str) -> None:
        assert max(map(cell_len, printed(self.report, 24, lang).splitlines())) <= 24

    def test_json_has_all_rows_and_only_when_asked_for(self) -> None:
        made = json.loads(json.dumps(to_json(self.report)))
        assert len(made["views"]["operators"]) == 20
        assert made["views"]["operators"][3] == {"op_type": "Op3", "count": 3, "total_ns": 3000, "efficiency_share": None}
        assert "views" not in to_json(Report("x", (0, 1), 0, [], ()))

    def test_analysis_makes_them_only_when_asked_for(self) -> None:
        trace = bare([("Add", 5.0, {})] * 5).trace()
        assert analyze(trace).views == ()
        assert "operators" in {v.id for v in analyze(trace, views=True).views}


def test_the_rows_that_were_read_are_counted() -> None:
    report = analyze(bare([("Add", 5.0, {})] * 1200).trace())
    assert "1,200 rows: device tasks 1,200" in printed(report)
    assert to_json(report)["rows"] == {"task": 1200}
