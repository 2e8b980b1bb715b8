"""Traces with one planted cause in the copies, and the same programs without it. Times in us."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from npu.units import US
from profiler.analysis import analyze
from tests.truth.machine import Machine
from tests.truth.test_host_causes import BATCH, IMAGES, INPUT, drain, feed, pipelined, read

WEIGHT = 64 * 64 * 9 * 2  # bytes of the weights that the machine's convolutions read
LARGE = 4 << 20
SHORT = BATCH[:12]


def inputs(count: int, pinned: bool = True, slower: float = 1, every: int = 1, shape: str = "1,64,56,56") -> Machine:
    """Inputs of so many bytes on a copy stream; every n-th image's copy is slower."""
    machine = Machine()
    for image in range(IMAGES):
        machine.copy(count, pinned=pinned, stream=2, slower=slower if image % every == 0 else 1)
        machine.record(image % 2, 2)
        machine.wait(image % 2, 1)
        machine.execute(SHORT, shape=shape)
    drain(machine)
    return machine


def blocking(held: bool) -> Machine:
    """The host looks at something else before it launches; the copy could travel meanwhile."""
    machine = Machine()
    for _image in range(IMAGES):
        machine.copy(INPUT, pinned=True, stream=-1 if held else 1)
        for _ in range(8):
            machine.call("aclmdlGetDesc", 15)
        machine.execute(BATCH)
        read(machine)
    return machine


def uploads(again: bool) -> Machine:
    machine = Machine()
    for image in range(IMAGES):
        if again:
            for _ in range(3):
                machine.copy(WEIGHT, pinned=True, stream=1, site="loop.py:4")
        feed(machine, image)
        machine.execute(BATCH)
    drain(machine)
    return machine


def halves(detour: bool) -> Machine:
    """Two models; what the first one makes goes to the second one, by way of the host or not."""
    machine = Machine()
    for image in range(IMAGES):
        feed(machine, image)
        machine.execute(SHORT)
        if detour:
            machine.sync()
            machine.copy(200_000, "d2h", pinned=True, site="loop.py:5")
            machine.copy(200_000, "h2d", pinned=True, site="loop.py:6")
        machine.execute(SHORT, model=2)
        read(machine)
    return machine


def moves(count: int, gbps: float) -> Machine:
    """A copy inside the device before each batch, and an aligned one for comparison."""
    machine = Machine()
    for image in range(IMAGES):
        feed(machine, image)
        machine.move(count, gbps)
        machine.move(1 << 20, 500)
        machine.execute(BATCH)
    drain(machine)
    return machine


def fills(held: bool) -> Machine:
    """The output is cleared before each model, through the blocking call or on a stream beside it."""
    machine = Machine()
    for image in range(IMAGES):
        feed(machine, image)
        machine.fill(600_000, 40, stream=-1 if held else 3)
        machine.execute(SHORT)
    drain(machine)
    return machine


def allocations(machine: Machine, _image: int) -> None:
    for name in ("aclrtMalloc", "aclrtMalloc", "aclrtFree", "aclrtFree"):
        machine.call(name)


def small(pieces: int) -> Machine:
    machine = Machine()
    for _image in range(IMAGES):
        for _ in range(pieces):
            machine.copy(160 * 1024 // pieces, pinned=True)
        machine.execute(SHORT)
        read(machine)
    return machine


def early(ahead: bool) -> Machine:
    """The host reads each result; the next input travels before or after that."""
    machine = Machine()
    machine.copy(4 * INPUT, pinned=True, stream=2)
    machine.work(200)  # so that the first launch shows how soon a kernel can follow it
    for _image in range(IMAGES):
        machine.record(0, 2)
        machine.wait(0, 1)
        machine.execute(BATCH)
        if ahead:
            machine.copy(4 * INPUT, pinned=True, stream=2)
        read(machine)
        if not ahead:
            machine.copy(4 * INPUT, pinned=True, stream=2)
    return machine


FLOATS, PIXELS = 4 * 8 * 3 * 224 * 224, 8 * 3 * 224 * 224
PICTURES = "8,3,224,224"

PLANTED: dict[str, tuple[Callable[[], Machine], Callable[[], Machine]]] = {
    "pageable-copy": (lambda: inputs(LARGE, pinned=False), lambda: inputs(LARGE)),
    "blocking-copy": (lambda: blocking(True), lambda: blocking(False)),
    "small-copies": (lambda: small(16), lambda: small(1)),
    "repeated-upload": (lambda: uploads(True), lambda: uploads(False)),
    "ping-pong": (lambda: halves(True), lambda: halves(False)),
    "copy-exposed": (lambda: early(False), lambda: early(True)),
    "copy-slow": (lambda: inputs(LARGE, slower=4, every=2), lambda: inputs(LARGE)),
    "unaligned-copy": (lambda: moves(20_000_100, 80), lambda: moves(20_000_256, 500)),
    "sync-memset": (lambda: fills(True), lambda: fills(False)),
    "alloc-in-loop": (lambda: pipelined(allocations), pipelined),
    "preprocess-on-device": (lambda: inputs(FLOATS, shape=PICTURES), lambda: inputs(PIXELS, shape=PICTURES)),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_the_planted_cause_comes_first_and_gains_what_its_cure_gains(planted: str) -> None:
    slow, fast = (make() for make in PLANTED[planted])
    report = analyze(slow.made.trace())
    assert report.findings and report.findings[0].id == planted, [(f.id, f.cause) for f in report.findings]
    gain = report.findings[0].gain
    assert gain is not None
    assert gain.ns / US == pytest.approx(slow.end - fast.end, rel=0.1)
    assert [f.id for f in report.findings[1:] if f.gain is not None] == []  # symptoms and what has no gain may follow


CLEAN: dict[str, Callable[[], Machine]] = {
    "pinned and early": lambda: inputs(LARGE // 4),
    "weights stay on the device": lambda: uploads(False),
    "models hand over on the device": lambda: halves(False),
    "aligned copies": lambda: moves(1 << 20, 500),
    "fills on the stream": lambda: fills(False),
    "buffers made before the loop": lambda: _before(lambda m: allocations(m, 0)),
    "one copy a step": lambda: early(True),
    "pictures as bytes": lambda: inputs(PIXELS, shape=PICTURES),
    "small results": lambda: pipelined(lambda m, _i: m.copy(4000, "d2h", pinned=True, stream=3)),
    "a model that fills its output": lambda: pipelined(images=60),
}


def _before(extra: Callable[[Machine], None]) -> Machine:
    """Twenty times something before the clean loop."""
    return pipelined(lambda m, i: [extra(m) for _ in range(20)] and None if i == 0 else None)


@pytest.mark.parametrize("name", CLEAN)
def test_clean_programs_are_silent(name: str) -> None:
    assert [f.id for f in analyze(CLEAN[name]().made.trace()).findings] == []
