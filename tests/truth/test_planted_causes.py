"""Traces with one planted cause: it is found first, alone, and its predicted gain is what the cured script really gains."""

from __future__ import annotations

import pytest

from npu.units import US
from profiler.analysis import analyze
from tests.truth.machine import Machine, fused, unfused

IMAGES = 24
BYTES = 224 * 224 * 3 * 4


def read_back(machine: Machine) -> None:
    machine.sync(site="end.py:1")
    for _ in range(IMAGES):
        machine.copy(4000, "d2h", site="end.py:2")


def inference(model: list[tuple[str, float]], *, sync: bool, copies: str, work: float = 25) -> Machine:
    """The article's loop. copies: none, blocking (pageable), overlapped (copy stream, pinned, two buffers, events)."""
    machine = Machine()
    for image in range(IMAGES):
        if copies == "blocking":
            machine.copy(BYTES)
        if copies == "overlapped":
            machine.copy(BYTES, pinned=True, stream=2)
            machine.record(image % 2, 2)
            machine.wait(image % 2, 1)
        machine.execute(model)
        if sync:
            machine.sync()
        machine.work(work)
    read_back(machine)
    return machine


def gained(slow: Machine, fast: Machine) -> float:
    return slow.end - fast.end


def ids(machine: Machine) -> list[str]:
    return [f.id for f in analyze(machine.made.trace()).findings if not f.cause]


def predicted(machine: Machine, wanted: str) -> float:
    report = analyze(machine.made.trace())
    assert report.findings[0].id == wanted, [f.id for f in report.findings]
    assert report.findings[0].gain is not None
    return report.findings[0].gain.ns / US


def test_a_sync_after_every_submission() -> None:
    slow = inference(fused(40), sync=True, copies="none", work=100)
    fast = inference(fused(40), sync=False, copies="none", work=100)
    assert predicted(slow, "sync-every-submit") == pytest.approx(gained(slow, fast), rel=0.1)
    assert ids(slow) == ["sync-every-submit"]


def test_unfused_convolutions() -> None:
    slow = inference(unfused(16), sync=False, copies="overlapped")
    fast = inference(fused(16), sync=False, copies="overlapped")
    assert predicted(slow, "unfused-pattern") == pytest.approx(gained(slow, fast), rel=0.1)
    assert ids(slow) == ["unfused-pattern"]


def test_the_three_causes_of_the_quickstart_and_their_joint_gain() -> None:
    slow = inference(unfused(20), sync=True, copies="blocking")
    fast = inference(fused(20), sync=False, copies="overlapped")
    report = analyze(slow.made.trace())
    assert sorted(f.id for f in report.findings if not f.cause) == ["copy-exposed", "sync-every-submit", "unfused-pattern"]
    assert {f.cause for f in report.findings if f.id == "blocking-copy"} <= {"copy-exposed"}
    assert report.joint is not None
    assert report.joint.ns / US == pytest.approx(gained(slow, fast), rel=0.1)
    assert report.joint.ns < sum(f.gain.ns for f in report.findings if f.gain is not None)  # the cures overlap


def test_the_cured_quickstart_is_silent() -> None:
    report = analyze(inference(fused(20), sync=False, copies="overlapped").made.trace())
    assert [f.id for f in report.findings] == []
    assert [c.state for c in report.checklist] == ["fine", "fine", "fine", "not_measured", "not_measured"]


def test_exposed_copies_when_the_host_reads_each_result() -> None:
    """The wait stays, because the host reads; copying the next input beside the kernels saves the copy."""

    def loop(early: bool) -> Machine:
        machine = Machine()
        if early:
            machine.copy(BYTES, pinned=True, stream=2)
        for image in range(IMAGES):
            if not early:
                machine.copy(BYTES)
            else:
                machine.record(image, 2)
                machine.wait(image, 1)
            machine.execute(fused(16))
            if early and image + 1 < IMAGES:
                machine.copy(BYTES, pinned=True, stream=2)
            machine.sync()
            machine.copy(4000, "d2h", site="loop.py:9")
        return machine

    slow = loop(early=False)
    assert predicted(slow, "copy-exposed") == pytest.approx(gained(slow, loop(early=True)), rel=0.1)
    assert "sync-every-submit" not in ids(slow)


def test_many_small_copies() -> None:
    def loop(pieces: int) -> Machine:
        machine = Machine()
        for _ in range(IMAGES):
            for _ in range(pieces):
                machine.copy(16 * 1024 * 16 // pieces)
            machine.execute(fused(16))
            machine.sync()
            machine.copy(4000, "d2h", site="loop.py:9")
        return machine

    slow = loop(16)
    report = analyze(slow.made.trace())
    assert [(f.id, f.cause) for f in report.findings] == [
        ("small-copies", ""),
        ("pageable-copy", "small-copies"),
        ("blocking-copy", "small-copies"),
        ("copy-exposed", "small-copies"),
    ]
    assert report.findings[0].facts["per_step"] == 16
    assert predicted(slow, "small-copies") == pytest.approx(gained(slow, loop(1)), rel=0.1)


@pytest.mark.parametrize("images", [3, 8, 40])
@pytest.mark.parametrize("work", [0, 20, 60])
def test_clean_loops_are_silent(images: int, work: float) -> None:
    machine = Machine()
    for image in range(images):
        machine.work(work)
        machine.copy(BYTES, pinned=True, stream=2)
        machine.record(image, 2)
        machine.wait(image, 1)
        machine.execute(fused(24))
    read_back(machine)
    assert [f.id for f in analyze(machine.made.trace()).findings] == []


def test_one_wait_per_batch_is_silent() -> None:
    machine = Machine()
    for _ in range(12):
        for _ in range(8):
            machine.execute(fused(8))
        machine.sync()
        machine.work(5)
    assert "sync-every-submit" not in ids(machine)


def test_a_program_that_runs_once_is_silent() -> None:
    machine = Machine()
    machine.copy(BYTES)
    machine.execute(fused(24))
    machine.sync()
    machine.copy(4000, "d2h")
    assert ids(machine) == []
