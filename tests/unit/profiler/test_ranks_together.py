"""Several ranks replayed as one: collectives joined by group and name or number, point-to-point by sender and receiver, absent
ranks as floors, clocks that differ. Times in us; every figure is worked out in the docstring above it."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiler.analysis.context import Context
from profiler.analysis.edits import Scale, Shorten
from profiler.analysis.ranks.meetings import meetings, offsets
from profiler.analysis.ranks.together import Together
from profiler.analysis.run import report
from profiler.findings import JointReport, RankRow
from profiler.ranks.cures import cured
from profiler.ranks.job import judged
from profiler.ranks.places import Place
from profiler.ranks.runners import Here
from profiler.read import open_trace
from profiler.report.ranks_text import print_joint
from profiler.trace import Columns
from tests.made import Made
from tests.unit.profiler.exchange import Steps

DATA = Path(__file__).parents[2] / "data"
TRANSFER, RECORD, WAIT, REDUCE = range(4)


def rank(number: int, blocks: list[float], others: list[list[float]], transfer: float = 10, shift: float = 0, name: str = "") -> Made:
    """Blocks of computing, each a kernel, each followed by a collective with the others, which have blocks of their own.

    All leave `transfer` after the last came. Everything is launched at 0.
    """
    made = Made()
    made.meta |= {"rank": number, "world_size": 1 + len(others)}
    now = 0.0
    for n, length in enumerate(blocks):
        made.api("aclnnMatmul", shift + 2 * n, shift + 2 * n + 1, correlation=n, stream=1, blocking=0)
        begin = max(now, 2 * n + 1)
        came = begin + length
        made.task("kernel", shift + begin, shift + came, correlation=n, name="k", op_type="MatMulV2")
        last = max([came, *(max(now, 2 * n + 1) + o[n] for o in others)])
        made.comm("op", f"{name or 'hcom_allReduce'}__1_{n if not name else 0}_1", shift + came, shift + last + transfer, group="world",
                  stream=1, rank=number)  # fmt: skip
        now = last + transfer
    return made


def pair(first: list[float], second: list[float], shift: float = 0, name: str = "") -> list[Context]:
    return [Context(rank(0, first, [second], name=name).trace()), Context(rank(1, second, [first], shift=shift, name=name).trace())]


def gain_us(together: Together, *edits: tuple[object, ...]) -> float:
    return together.gain(edits) / 1000  # type: ignore[arg-type]


KERNELS = np.arange(2)


def test_curing_the_rank_nobody_waits_for_gains_nothing_for_the_job() -> None:
    """Blocks 100, 100 against 60, 60: the job ends at 1 + 2 x (100 + 10). Halving the second rank's kernels leaves that; halving
    the first's lets the second come last with 60: 2 x (60 + 10), 80 less."""
    together = Together(pair([100, 100], [60, 60]))
    assert together.end == 221_000
    assert gain_us(together, (), (Scale(KERNELS, 0.5),)) == 0
    assert gain_us(together, (Scale(KERNELS, 0.5),), ()) == 80
    assert gain_us(together, (Scale(KERNELS, 0.5),), (Scale(KERNELS, 0.5),)) == 100


def test_who_comes_last_may_change_from_block_to_block() -> None:
    """100, 20 against 20, 100: 2 x (100 + 10). With the first rank at half speed less (50, 10) the first meeting is at 51, the
    second at 51 + 10 + 100: 50 less, not 2 x 50."""
    together = Together(pair([100, 20], [20, 100]))
    assert gain_us(together, (Scale(KERNELS, 0.5),), ()) == 50


def test_a_shorter_transfer_counts_once_however_many_ranks_have_it() -> None:
    """4 less of each of two transfers of 10, on both ranks: 8. On one rank only, the other leaves when it always left: 4 + 0,
    since after the last meeting the other rank still ends as before."""
    contexts = pair([100, 100], [60, 60])
    together = Together(contexts)
    shorter = Shorten(np.arange(2), np.array([4_000, 4_000]))
    assert gain_us(together, (shorter,), (shorter,)) == 8
    assert gain_us(together, (shorter,), ()) == 4


@pytest.mark.parametrize("name", ["", "hcom_allReduce_same"])
def test_clocks_apart_are_brought_together_by_the_ends(name: str) -> None:
    """The second rank's clock is 5,000 ahead; joined by names that differ from call to call, or by their number."""
    contexts = pair([100, 100], [60, 60], shift=5_000, name=name)
    shared = meetings(contexts)
    assert [len(m.members) for m in shared] == [2, 2]
    assert offsets(contexts, shared).tolist() == [0, -5_000_000]
    assert gain_us(Together(contexts), (Scale(KERNELS, 0.5),), ()) == 80


def test_numbered_collectives_of_unequal_count_are_not_joined() -> None:
    contexts = pair([100, 100], [60, 60], name="hcom_allReduce_same")
    short = Context(rank(1, [60], [[100]], name="hcom_allReduce_same").trace())
    assert meetings([contexts[0], short]) == []


def stage(number: int, sends: bool, block: float, arrives: float, parts: bool = True) -> Made:
    """A pipeline stage: it computes and sends, or it receives (coming at 5) and computes. The transfer takes 20."""
    made = Made()
    made.meta |= {"rank": number, "world_size": 2}
    made.api("aclnnMatmul", 0, 1, correlation=0, stream=1, blocking=0)
    if sends:
        made.task("kernel", 1, 1 + block, correlation=0, name="k")
        made.comm("op", "hcom_send__1_0_1", 1 + block, 1 + block + 20, group="pp", stream=1, rank=number)
        if parts:
            made.comm("part", "", 1 + block, 21 + block, group="pp", part=TRANSFER, src=0, dst=1, stream=1, rank=number)
    else:
        made.comm("op", "hcom_receive__1_0_1", 5, arrives + 20, group="pp", stream=1, rank=number)
        if parts:
            made.comm("part", "", 5, arrives, group="pp", part=WAIT, src=0, dst=1, stream=1, rank=number)
        made.task("kernel", arrives + 20, arrives + 20 + block, correlation=0, name="k")
    return made


@pytest.mark.parametrize("parts", [True, False])
def test_a_receive_waits_for_its_send(parts: bool) -> None:
    """The first stage computes 100 and sends for 20; the second then computes 50: 171. Half of the first's kernel is 50 less."""
    first, second = stage(0, True, 100, 0, parts), stage(1, False, 50, 101, parts)
    together = Together([Context(first.trace()), Context(second.trace())])
    assert [len(m.members) for m in together.shared] == [2]
    assert together.end == 171_000
    assert gain_us(together, (Scale(np.arange(1), 0.5),), ()) == 50
    assert gain_us(together, (), (Scale(np.arange(1), 0.5),)) == 25


def test_sends_of_other_pairs_are_other_meetings() -> None:
    first, second = stage(0, True, 100, 0), stage(1, False, 50, 101)
    for row in second.rows["comm"][1:]:
        row |= {"src": 2, "dst": 1}
    assert meetings([Context(first.trace()), Context(second.trace())]) == []


def absent(number: int) -> Made:
    """One kernel of 50, then a collective that waits until 100 for rank 2, whose profile is not here, and moves data for 10."""
    made = Made()
    made.meta |= {"rank": number, "world_size": 3}
    made.api("aclnnMatmul", 0, 1, correlation=0, stream=1, blocking=0)
    made.task("kernel", 1, 51, correlation=0, name="k")
    own = {"group": "world", "stream": 1, "rank": number, "op": 0}
    made.comm("op", "hcom_allReduce__1_0_1", 51, 110, **own)
    made.comm("part", "", 51, 100, part=WAIT, src=2, dst=number, **own)
    made.comm("part", "", 100, 110, part=TRANSFER, src=2, dst=number, **own)
    return made


def test_a_rank_that_is_not_here_keeps_its_arrival() -> None:
    contexts = [Context(absent(n).trace()) for n in (0, 1)]
    together = Together(contexts)
    assert not together.complete
    assert gain_us(together, (Scale(np.arange(1), 0.5),), (Scale(np.arange(1), 0.5),)) == 0
    reports = [report(c.trace) for c in contexts]
    assert cured(reports, lambda n: contexts[n].trace) == (reports, 0)


def test_two_of_three_ranks_do_not_tell_for_all_when_nobody_recorded_who_was_late() -> None:
    contexts = pair([100, 100], [60, 60])
    assert Together(contexts).complete
    for context in contexts:
        context.trace.meta["world_size"] = 3
    assert not Together(contexts).complete


lengths = st.lists(st.integers(1, 50), min_size=3, max_size=3)


@settings(max_examples=60, deadline=None)
@given(st.lists(lengths, min_size=2, max_size=4), st.integers(0, 1000))
def test_without_edits_all_measured_times_come_back(blocks: list[list[int]], shift: int) -> None:
    contexts = [
        Context(rank(n, [*map(float, own)], [[*map(float, o)] for m, o in enumerate(blocks) if m != n], shift=shift * n).trace())
        for n, own in enumerate(blocks)
    ]
    together = Together(contexts)
    for times, context, offset in zip(together.times([()] * len(contexts)), contexts, together.offset.tolist(), strict=True):
        assert (times == context.graph.time + offset).all()


row = st.tuples(st.sampled_from(["kernel", "call", "op"]), st.integers(0, 80), st.integers(0, 30), st.integers(0, 3))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(row, max_size=8), min_size=2, max_size=3))
def test_measured_times_come_back_however_they_contradict_each_other(ranks: list[list[tuple[str, int, int, int]]]) -> None:
    """Clocks that jump, operations that end before another rank came, none of which anything launched."""
    contexts = []
    for number, rows in enumerate(ranks):
        made = Made()
        made.meta |= {"rank": number, "world_size": len(ranks)}
        for n, (kind, start, length, stream) in enumerate(rows):
            if kind == "kernel":
                made.task("kernel", start, start + length, stream=stream, correlation=n, name="k")
            elif kind == "call":
                made.api("aclnnAdd", start, start + length, correlation=n + 1, stream=stream)
            else:
                made.comm("op", f"hcom_allReduce__1_{stream}_1", start, start + length, group="g", stream=stream, correlation=n)
        made.task("kernel", 0, 1, stream=9, name="k")
        contexts.append(Context(made.trace()))
    together = Together(contexts)
    for times, context, offset in zip(together.times([()] * len(contexts)), contexts, together.offset.tolist(), strict=True):
        assert (times == context.graph.time + offset).all()


@settings(max_examples=60, deadline=None)
@given(lengths, lengths, st.integers(0, 10))
def test_a_joint_replay_is_the_schedule_with_those_lengths(first: list[int], second: list[int], tenths: int) -> None:
    """Each block ends when the slower of both is through it: sum over max(first * factor, second) + transfer."""
    together = Together(pair([*map(float, first)], [*map(float, second)]))
    edited = [int(1000 * a * (tenths / 10)) for a in first]
    launched = [1_000, 3_000, 5_000]  # a kernel never begins before its launch
    now = 0
    for at, a, b in zip(launched, edited, second, strict=True):
        now = max(max(now, at) + a, max(now, at) + 1000 * b) + 10_000
    assert together.end - together.gain([(Scale(np.arange(3), tenths / 10),), ()]) == now


def test_real_ranks_meet_and_come_back_exactly() -> None:
    """Rank 0 of a real step beside itself under another number and with its clock 7 ms off: four collectives, and all times."""
    trace = open_trace(DATA / "known_step")
    other = replace(trace, api=_later(trace.api), task=_later(trace.task), comm=_later(trace.comm), meta={**trace.meta, "rank": 1})
    contexts = [Context(trace), Context(other)]
    together = Together(contexts)
    assert len(together.shared) == 4
    assert together.offset.tolist() == [0, -7_000_000]
    assert all((t == contexts[0].graph.time).all() for t in together.times([(), ()]))


def _later(table: Columns) -> Columns:
    return table.with_columns(start=table["start"] + 7_000_000, end=table["end"] + 7_000_000)


def exchanging(number: int) -> Made:
    """Six steps of 30 collectives with rank 1 - number, which is there at once, and a kernel of 200 before them."""
    steps = Steps(number)
    steps.made.meta["world_size"] = 2
    for _ in range(6):
        steps.kernel(200)
        for _ in range(30):
            steps.collective({1 - number: 0.0}, transfer=20, size=2 << 20)
        steps.mark()
    return steps.made


def test_reports_of_a_job_carry_the_gain_of_the_joint_replay() -> None:
    """Both ranks hide their exchanges: what each gains alone is what the job gains, and the report says where they met. One rank
    that hides them alone gains the job nothing."""
    traces = {f"r{n}": exchanging(n).trace() for n in (0, 1)}
    found = [Place(lambda path: traces[path.name], Path(name), n, 0) for n, name in enumerate(traces)]
    made, told = judged(found, Here())
    assert told is not None and told.meetings == 6 * 30
    gains = [{f.id: f.gain for f in m.report.findings if f.gain is not None} for m in made if m.report is not None]
    assert [set(g) for g in gains] == [{"exposed-communication"}] * 2
    both = gains[0]["exposed-communication"]
    assert both.on_all_ns == both.ns == gains[1]["exposed-communication"].on_all_ns > 0
    contexts = [Context(t) for t in traces.values()]
    edits = next(f.edits for f in report(traces["r0"]).findings if f.id == "exposed-communication")
    assert Together(contexts).gain([edits, ()]) == 0  # type: ignore[list-item]
    assert all(not f.edits for m in made if m.report is not None for f in m.report.findings)


@pytest.mark.parametrize(("lang", "said"), [("en", "joined at 180 shared operations"), ("zh", "在 180 次共同的通信操作处相连")])
def test_the_report_says_that_gains_are_of_all_ranks_together(lang: str, said: str) -> None:
    from rich.console import Console

    out = StringIO()
    told = JointReport(1_000_000, (), ())
    row = RankRow(0, "r0", 1_000_000, 500_000, 400_000, None, None, None, None, None)
    print_joint(replace(told, ranks=(row,), meetings=180), Console(file=out, width=200), lang)
    assert said in out.getvalue()
    out.truncate(0)
    print_joint(replace(told, ranks=(row,)), Console(file=out, width=200), lang)
    assert "180" not in out.getvalue()
