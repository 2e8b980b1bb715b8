"""What-if on scripts of a machine whose cure can be run as well: the predicted time is the cured script's. Times us."""

from __future__ import annotations

import pytest

from npu.units import US
from profiler.analysis.whatif import Wanted, what_if, what_if_ranks
from profiler.findings import Change, WhatIf
from profiler.report.whatif import lines, to_json
from tests.made import Made
from tests.truth.machine import Machine, fused, unfused

BYTES = 224 * 224 * 3 * 4
TURNS = 12


def loop(*, sync: bool = True, kernels: int = 30, pinned: bool | None = None, read: bool = False, scale: float = 1) -> Machine:
    """Turns of an optional blocking copy, a model, an optional wait (with reading), 60 of own code."""
    machine = Machine()
    for _ in range(TURNS):
        if pinned is not None:
            machine.copy(BYTES, pinned=pinned)
        machine.execute([("Conv2D", 10.0), ("MatMulV2", 20 * scale)] * (kernels // 2))
        if sync:
            machine.sync()
        if read:
            machine.copy(4000, "d2h")
        machine.work(60)
    machine.sync(site="end.py:1")
    return machine


def only(made: WhatIf) -> Change:
    assert len(made.changes) == 1
    return made.changes[0]


def gain(machine: Machine, wanted: Wanted) -> float:
    found = only(what_if(machine.made.trace(), wanted)).gain
    assert found is not None
    return found.ns / US


def test_no_sync_is_the_script_without_waits() -> None:
    """The window ends with the device's last work: what the last wait delays lies outside, so 11 of 12 turns count."""
    slow = loop()
    cured = (slow.end - loop(sync=False).end) * (TURNS - 1) / TURNS
    assert gain(slow, Wanted(no_sync=True)) == pytest.approx(cured, rel=0.01)


def test_waits_before_results_are_read_stay() -> None:
    change = only(what_if(loop(read=True).made.trace(), Wanted(no_sync=True)))
    assert (change.gain, change.why) == (None, "all_waits_needed")
    assert change.facts["kept"] == TURNS


def test_pinned_is_the_script_with_pinned_memory() -> None:
    slow = loop(pinned=False)
    assert gain(slow, Wanted(pinned=True)) == pytest.approx(slow.end - loop(pinned=True).end, rel=0.1)


@pytest.mark.parametrize("pattern", ["MatMul", "matmulv2", "MatMulV*"])
def test_an_operator_twice_as_fast_and_its_limit(pattern: str) -> None:
    slow = loop()
    change = only(what_if(slow.made.trace(), Wanted(operators={pattern: 0.5})))
    assert change.gain is not None
    assert change.gain.ns / US == pytest.approx(slow.end - loop(scale=0.5).end, rel=0.02)
    assert change.facts["count"] == 15 * TURNS
    assert change.facts["total_ns"] == 15 * TURNS * 20 * US
    assert change.limit is not None
    assert change.limit >= 2 * change.gain.ns - 1


def test_a_slower_operator_has_a_negative_gain() -> None:
    slow = loop()
    made = what_if(slow.made.trace(), Wanted(operators={"MatMul": 2}))
    found = only(made).gain
    assert found is not None
    assert found.ns / US == pytest.approx(slow.end - loop(scale=2).end, rel=0.02)
    assert "slower" in "\n".join(lines(made))


def test_fuse_is_the_fused_model() -> None:
    def run(model: list[tuple[str, float]]) -> Machine:
        machine = Machine()
        for _ in range(TURNS):
            machine.execute(model)
        machine.sync()
        return machine

    slow = run(unfused(16))
    assert gain(slow, Wanted(fuse=True)) == pytest.approx(slow.end - run(fused(16)).end, rel=0.1)


def feeds(streams: int, blocks: int) -> Made:
    """Eight items of copy 40 and kernel 100; with streams, item n follows item n - streams and the copy engine is shared."""
    made = Made()
    ends = [0.0] * 8
    copied = 0.0
    for item in range(8):
        made.api("aclmdlExecuteAsync", item * 2, item * 2 + 1, correlation=item, stream=1, blocking=0)
        start = max(item * 2 + 1, ends[item - streams] if item >= streams else 0.0, copied)
        copied = start + 40
        made.task("copy", start, copied, correlation=item, direction="h2d", bytes=1 << 20, model=1)
        ends[item] = copied + 100
        made.task("kernel", copied, ends[item], correlation=item, model=1, block_dim=blocks, op_type="Conv2D", name="k")
    return made


def test_streams_let_independent_steps_run_beside_each_other() -> None:
    """Kernels of 5 of 20 cores. One stream: 8 x 140 = 1120 + 1. Four: item n copies when n - 4 is done and the engine free.
    Items 0-3 copy until 161 and end at 141, 181, 221, 261; item 4 begins at 161 (the engine), ends at 301; items 5-7 end 40
    apart: 421."""
    made = what_if(feeds(1, 5).trace(), Wanted(streams=4))
    change = only(made)
    assert change.gain is not None
    assert change.facts["room"] == 4
    assert change.gain.ns / US == 1121 - 421
    assert "nothing in the profile proves it" in "\n".join(lines(made))


def test_kernels_that_fill_the_chip_only_hide_the_copies() -> None:
    """Kernels of 20 of 20 cores follow each other: the first copy, then 8 x 100."""
    change = only(what_if(feeds(1, 20).trace(), Wanted(streams=4)))
    assert change.gain is not None
    assert change.facts["room"] == 1
    assert change.gain.ns / US == 1121 - (41 + 800)


def test_all_changes_together_are_one_replay() -> None:
    slow = loop(pinned=False)
    made = what_if(slow.made.trace(), Wanted(no_sync=True, pinned=True, operators={"Conv2D": 0.5, "MatMul": 0.5}))
    assert made.joint is not None
    gains = [c.gain.ns for c in made.changes if c.gain is not None]
    assert len(gains) == 4
    assert max(gains) <= made.joint.ns
    assert made.quality.modelled == pytest.approx(made.quality.measured, rel=0.02)
    assert made.quality.explained > 0.95


@pytest.mark.parametrize(("wanted", "why"), [
    (Wanted(no_sync=True), "no_waits"), (Wanted(fuse=True), "nothing_to_fuse"), (Wanted(pinned=True), "no_copies"),
    (Wanted(streams=2), "no_steps"), (Wanted(operators={"Gelu": 0.5}), "no_such_operator"),
])  # fmt: skip
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_cannot_be_changed_says_why(wanted: Wanted, why: str, lang: str) -> None:
    machine = Machine()
    machine.execute(fused(2))
    made = what_if(machine.made.trace(), wanted)
    assert (only(made).gain, only(made).why, made.joint) == (None, why, None)
    text = "\n".join(lines(made, lang))
    assert "{" not in text


def test_json_has_the_same_facts() -> None:
    made = to_json(what_if(loop().made.trace(), Wanted(no_sync=True, operators={"MatMul": 0.5})))
    assert [c["id"] for c in made["changes"]] == ["no-sync", "op"]
    assert made["changes"][0]["limit_us"] is None and made["changes"][1]["limit_us"] > 0
    assert made["joint"]["us"] > 0 and made["replay"]["explained"] > 0.95


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_text_says_gain_assumption_and_trust(lang: str) -> None:
    text = "\n".join(lines(what_if(loop(pinned=False).made.trace(), Wanted(True, True, True, 2, {"MatMul": 0.5})), lang))
    for number in range(1, 6):
        assert f"\n{number}. " in text
    assert "{" not in text and "Conv2D" not in text.splitlines()[0]


def exchanging(number: int, block: float, other: float) -> Made:
    """A rank with two kernels of `block`, each before an exchange of 10 with a rank whose kernels take `other`."""
    made, now = Made(), 0.0
    made.meta |= {"rank": number, "world_size": 2}
    for n in range(2):
        made.api("aclnnMatmul", 2 * n, 2 * n + 1, correlation=n, stream=1, blocking=0)
        made.task("kernel", now, now + block, correlation=n, name="k", op_type="MatMulV2")
        end = now + max(block, other) + 10
        made.comm("op", f"hcom_allReduce__1_{n}_1", now + block, end, group="world", stream=1, rank=number)
        now = end
    return made


def test_ranks_of_one_job_are_changed_and_replayed_together() -> None:
    """100 a block here, 60 there, 110 with the exchange: 220. Half of both is 50 less a block for the job, 100 in all, though
    the second rank alone gains nothing: it waits for the first."""
    wanted = Wanted(operators={"MatMul": 0.5})
    first, second = what_if_ranks([exchanging(0, 100, 60).trace(), exchanging(1, 60, 100).trace()], wanted)
    gains = [only(m).gain for m in (first, second)]
    assert [g.on_all_ns for g in gains if g is not None] == [100_000, 100_000]
    assert first.joint is not None and first.joint.on_all_ns == 100_000
    alone = only(what_if(exchanging(1, 60, 100).trace(), wanted)).gain
    assert alone is not None and alone.on_all_ns is None
