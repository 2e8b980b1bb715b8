"""Several ranks together: whom the others wait for and why, links, imbalance, and the same answer wherever they are judged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cli.commands.analyze import analyze
from cli.common import CliError
from profiler import texts
from profiler.analysis.ranks.joint import joint
from profiler.analysis.ranks.summary import RankSummary, from_sums
from profiler.analysis.run import with_context
from profiler.analysis.views.links import Link
from profiler.findings import JointReport
from profiler.ranks import runners
from profiler.ranks.job import judged
from profiler.ranks.places import places, ranks_of
from profiler.ranks.runners import Cluster, Here, Processes, runner
from profiler.read import open_trace
from profiler.report.ranks_text import ranges
from profiler.trace import Unreadable
from tests.unit.profiler.exchange import Steps

DATA = Path(__file__).parents[2] / "data"
MS = 1_000_000


def rank(number: int, computing: int = 1000, communication: int = 500, **more: object) -> RankSummary:
    """A rank by sums, times in ms."""
    made = RankSummary(
        number,
        f"rank{number}",
        4,
        1600 * MS,
        1600 * MS,
        computing * MS,
        communication * MS,
        50 * MS,
        {"computing": computing * MS, "free": 50 * MS, "preparing": 0},
    )
    return replace(made, **more)  # type: ignore[arg-type]


def ids(report: JointReport) -> list[str]:
    return [f.id for f in report.findings]


def test_the_rank_that_communicates_least_and_computes_most() -> None:
    """Median communication 500, least 60: the others wait 440; its computing exceeds the median by 450, 45 %."""
    report = joint([rank(0), rank(1), rank(2, 1450, 60), rank(3)])
    assert ids(report) == ["late-rank-sums", "late-rank-computes-sums"]
    late, cause = report.findings
    assert (late.facts["rank"], late.facts["cost_ns"]) == ("2", 440 * MS)
    assert (cause.facts["excess_ns"], cause.facts["excess_share"]) == (450 * MS, 0.45)
    assert cause.gain is not None and cause.gain.ns == 440 * MS
    assert (report.named, report.absent) == ((2,), ())


def test_least_communication_without_most_work_is_no_late_rank() -> None:
    assert not joint([rank(0, 1001), rank(1), rank(2, 990, 60), rank(3, free=60 * MS)]).findings


def test_alike_ranks_and_a_pair_are_silent() -> None:
    assert not joint([rank(n, 1000 + n, 500 - n) for n in range(8)]).findings
    assert not joint([rank(0), rank(1, 1020, 480)]).findings


def test_uneven_computing_is_an_imbalance() -> None:
    """1000, 1100, 1200, 1300: mean 1150, deviation 112 = 9.7 %; the slowest is 150 above the mean."""
    report = joint([rank(n, 1000 + 100 * n) for n in range(4)])
    assert ids(report) == ["imbalance-computing"]
    facts = report.findings[0].facts
    assert (facts["most"], facts["least"], facts["excess_ns"]) == ("3", "0", 150 * MS)
    assert facts["spread_share"] == pytest.approx(0.0972, abs=0.0001)


def test_a_rank_whose_file_is_cut_is_not_compared() -> None:
    report = joint([rank(0, 1000), rank(1, 1000), rank(2, 400, cut=True)])
    assert ids(report) == []
    assert ids(joint([rank(0, 1000), rank(1, 1000), rank(2, 400)])) == ["imbalance-computing"]


def test_unequal_experts() -> None:
    """100, 100, 100, 260 ms: 260 of 140 on average."""
    experts = [{"GroupedMatmul": (ms * MS, 8.0)} for ms in (100, 100, 100, 260)]
    report = joint([rank(n, operators=e) for n, e in enumerate(experts)])
    assert ids(report) == ["imbalance-experts"]
    assert report.findings[0].facts["ratio"] == pytest.approx(260 / 140)
    assert not joint([rank(n, operators={"GroupedMatmul": (100 * MS, 8.0)}) for n in range(4)]).findings


def link(src: int, dst: int, gbps: float, transfers: int = 8) -> Link:
    size = 64 << 20
    return Link(src, dst, "HCCS", 4, transfers, size * transfers, int(size * transfers / gbps), size, gbps, 1.0)


def test_a_slow_link_seen_over_all_ranks() -> None:
    """Each rank sees only its own two links; 3 to 0 runs at half of the others."""
    ring = [rank(n, links=(link(n, (n + 1) % 4, 1.0 if n == 3 else 2.0), link(n, (n - 1) % 4, 2.0))) for n in range(4)]
    report = joint(ring)
    assert ids(report) == ["slow-link"]
    assert (report.findings[0].facts["src"], report.findings[0].facts["dst"]) == ("3", "0")
    assert report.findings[0].facts["lost_ns"] == (64 << 20) * 8 // 2


def test_a_link_shared_or_seen_too_rarely_is_none() -> None:
    even = [rank(n, links=(link(n, (n + 1) % 4, 1.0 if n < 2 else 2.0),)) for n in range(4)]
    assert not joint(even).findings  # two of four: nothing says which is normal
    rare = [rank(n, links=(link(n, (n + 1) % 4, 1.0 if n == 3 else 2.0, 2 if n == 3 else 8),)) for n in range(4)]
    assert not joint(rare).findings


def job(slow: int, excess: float, present: Sequence[int] = (0, 1, 2, 3)) -> JointReport:
    """Four ranks of five steps: `slow` computes `excess` longer, so the others wait for it."""
    made = []
    for number in present:
        steps = Steps(number)
        for _ in range(5):
            own = excess if number == slow else 0.0
            late = {p: (excess if p == slow else 0.0) for p in range(4) if p != number}
            steps.step(500 + own, late, transfer=20)
        _, summary = with_context(steps.made.trace(), False, False)
        assert summary is not None
        made.append(summary)
    return joint(made)


def test_waiting_is_charged_to_the_late_rank_and_its_cause_named() -> None:
    report = job(2, 200)
    late, cause = report.findings
    assert (late.id, late.facts["rank"], late.facts["cost_ns"]) == ("late-rank-joint", "2", 200_000)
    assert late.facts["last_share"] == 1.0
    assert late.gain is not None and late.gain.ns == 200_000
    assert (cause.id, cause.facts["operator"]) == ("late-rank-cause", "MatMulV2")
    assert (cause.facts["own_ns"], cause.facts["median_ns"]) == (700_000, 500_000)
    row = report.ranks[2]
    assert (row.waiting_ns, row.last_share, row.lag_ns) == (0, 1.0, 200_000)
    assert report.ranks[0].waiting_ns == 200_000


def test_a_late_rank_without_a_profile_is_named() -> None:
    report = job(2, 200, present=(0, 1, 3))
    assert ids(report) == ["late-rank-absent"]
    assert (report.absent, report.named) == ((2,), ())


def test_balanced_ranks_are_silent() -> None:
    assert not job(2, 0).findings


def test_slower_cores_are_the_cause() -> None:
    report = joint([rank(0, clock=1800.0), rank(1, clock=1800.0), rank(2, 1450, 60, clock=1200.0), rank(3, clock=1800.0)])
    assert ids(report) == ["late-rank-sums", "late-rank-clock"]
    assert report.findings[1].facts["clock"] == 1200.0


def test_every_joint_text_can_be_said_in_both_languages() -> None:
    for report in (job(2, 200), job(2, 200, (0, 1, 3)), joint([rank(0), rank(1), rank(2, 1450, 60), rank(3)])):
        for finding in report.findings:
            for lang in texts.LANGUAGES:
                assert "{" not in texts.claim(finding, lang) + texts.advice(finding, lang) + texts.title(finding, lang)


def test_all_ranks_of_a_cluster_table() -> None:
    """The real table has two pipeline stages of eight ranks; no rank stands out."""
    summaries = from_sums(open_trace(DATA / "real" / "cluster_analysis_output"))
    assert [s.rank for s in summaries] == list(range(16))
    assert summaries[0].computing == 75_174_575
    assert not [f for f in joint(summaries).findings if f.number == 58]


def written(tmp_path: Path, computing: Sequence[float]) -> Path:
    """step_trace_time of as many ranks, ms: a step of 1000 that computes and communicates."""
    header = "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,Preparing"
    for number, ms in enumerate(computing):
        place = tmp_path / f"rank{number}_ascend_pt"
        (place / "ASCEND_PROFILER_OUTPUT").mkdir(parents=True)
        (place / f"profiler_info_{number}.json").write_text("{}")
        rest = 1000 - ms
        row = f"{number},5,{ms * 1000},{rest * 1000},0,{rest * 1000},0,1000000,0,0"
        (place / "ASCEND_PROFILER_OUTPUT" / "step_trace_time.csv").write_text(f"{header}\n{row}\n")
    return tmp_path


def test_ranks_are_known_before_they_are_read(tmp_path: Path) -> None:
    parent = written(tmp_path, [500] * 4)
    assert [p.rank for p in places(parent)] == [0, 1, 2, 3]
    assert [p.rank for p in places(parent, {1, 3})] == [1, 3]


def test_the_same_answer_in_processes(tmp_path: Path) -> None:
    found = places(written(tmp_path, [500, 500, 900, 500]))
    _, alone = judged(found, Here())
    _, split = judged(found, Processes(2))
    assert alone is not None and ids(alone) == ["late-rank-sums", "late-rank-computes-sums"]
    assert split == alone


@pytest.mark.slow
def test_the_same_answer_on_a_cluster(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    found = places(written(tmp_path, [500, 500, 900, 500]))
    _, alone = judged(found, Here())
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        _, spread = judged(found, Cluster(cluster.scheduler_address))
    assert spread == alone


def test_no_scheduler_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(runners, "ANSWER", 0.2)
    with pytest.raises(Unreadable, match="no Dask scheduler answers"):
        judged(places(written(tmp_path, [500, 500])), Cluster("tcp://127.0.0.1:1"))


def test_which_runner() -> None:
    assert isinstance(runner(1 << 20), Here)
    assert isinstance(runner(1 << 40, jobs=1), Here)
    assert isinstance(runner(1 << 20, jobs=2), Processes)
    assert isinstance(runner(1, scheduler="tcp://host:8786"), Cluster)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parent = written(tmp_path, [500, 500, 900, 500])
    assert analyze(str(parent), lang=None) == 0
    text = capsys.readouterr().out
    assert text.index("Ranks") < text.index("1. critical  Rank 2 is slow and the others wait for it")
    assert "Ranks 0-1, 3 look alike; shown is rank 0:" in text
    assert analyze(str(parent), json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert [r["rank"] for r in told["job"]["ranks"]] == [0, 1, 2, 3]
    assert told["job"]["findings"][0]["facts"]["rank"] == "2"
    assert len(told["parts"]) == 3


def test_some_of_the_ranks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parent = written(tmp_path, [500, 500, 900, 500])
    analyze(str(parent), json=True, ranks="0-1,3")
    told = json.loads(capsys.readouterr().out)
    assert [r["rank"] for r in told["job"]["ranks"]] == [0, 1, 3]
    assert not told["job"]["findings"]
    with pytest.raises(CliError, match="none of the ranks"):
        analyze(str(parent), ranks="7")
    with pytest.raises(CliError, match="x is no rank"):
        analyze(str(parent), ranks="0,x")


def test_ranges_of_ranks() -> None:
    assert ranks_of("0-2, 7") == {0, 1, 2, 7}
    assert ranges([7, 0, 1, 2]) == "0-2, 7"
    for wrong in ("", "2-1", "a", "1-", "-1"):
        with pytest.raises(ValueError):
            ranks_of(wrong)
