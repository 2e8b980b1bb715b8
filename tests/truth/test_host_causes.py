"""Traces with one planted cause on the host, and the same programs without it. Times in us; IMAGES images a run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from npu.units import US
from profiler.analysis import analyze
from tests.truth.machine import Machine, conv_us

IMAGES = 24
INPUT = 224 * 224 * 3 * 4
BATCH = [("Conv2D", conv_us())] * 24
SHORT = [("Conv2D", conv_us())] * 6


def pipelined(extra: Callable[[Machine, int], None] | None = None, images: int = IMAGES) -> Machine:
    """The clean loop: the next input beside the kernels, one wait at the end. extra: what an image costs the host besides."""
    machine = Machine()
    for image in range(images):
        if extra is not None:
            extra(machine, image)
        feed(machine, image)
        machine.execute(BATCH)
    drain(machine)
    return machine


def feed(machine: Machine, image: int) -> None:
    machine.copy(INPUT, pinned=True, stream=2)
    machine.record(image % 2, 2)
    machine.wait(image % 2, 1)


def drain(machine: Machine) -> None:
    machine.sync(site="end.py:1")
    machine.copy(4000 * IMAGES, "d2h", site="end.py:2")


def read(machine: Machine) -> None:
    """The host needs this result at once."""
    machine.sync()
    machine.copy(4000, "d2h", pinned=True, site="loop.py:9")


class Worker:
    """Another thread that prepares items of `us` one ahead: the main thread takes one as soon as both are ready."""

    def __init__(self, us: float) -> None:
        self.us, self.ready = us, us

    def take(self, machine: Machine) -> None:
        machine.now = max(machine.now, self.ready)
        self.ready = machine.now + self.us


def device_wide(wide: bool) -> Machine:
    """Each result is read at once, while data is moved within the device on a stream of its own."""
    machine = Machine()
    for image in range(IMAGES):
        feed(machine, image)
        machine.execute(BATCH)
        machine.move(140 << 20, 560, stream=3)
        machine.sync_device() if wide else machine.sync()
        machine.copy(4000, "d2h", pinned=True, site="loop.py:9")
    return machine


def flags(held: bool) -> Machine:
    """A flag of four bytes is read after every image: waited for, or looked at later."""
    machine = Machine()
    for image in range(IMAGES):
        feed(machine, image)
        machine.execute(SHORT)
        if held:
            machine.sync()
        machine.copy(4, "d2h", pinned=True, stream=-1 if held else 3, site="loop.py:9")
    drain(machine)
    return machine


def short_models(work: float) -> Machine:
    """Sixty launches a step, each with one short kernel and some Python before it."""
    machine = Machine()
    for _ in range(60):
        machine.work(work)
        machine.execute([("Conv2D", 6.0)])
    drain(machine)
    return machine


def preparing(worker: Worker | None, marker: str = "", us: float = 400) -> Machine:
    """An input is prepared (or loaded), computed, and its result read at once."""
    machine = Machine()
    for image in range(IMAGES):
        if worker is not None:
            worker.take(machine)
        elif marker:
            machine.marked(marker, us)
        else:
            machine.work(us)
        feed(machine, image)
        machine.execute(BATCH)
        read(machine)
    return machine


def collecting(collections: int) -> Machine:
    def extra(machine: Machine, image: int) -> None:
        if image % 5 == 4 and image // 5 < collections:
            machine.marked("gc", 4000)

    return pipelined(extra)


def feeds(threads: int, own: bool) -> Machine:
    """Threads with a camera each: a model on a quarter of the cores, its own buffers, and a wait for each frame."""
    machine = Machine()
    for _frame in range(8):
        for thread in range(threads):
            machine.thread = thread
            machine.execute(SHORT, stream=thread + 1 if own else 1, blocks=5, touches=(f"{thread}+0:64", f"{10 + thread}+0:64"))
        for thread in range(threads):
            machine.thread = thread
            machine.sync(thread + 1 if own else 1)
            machine.copy(4000, "d2h", pinned=True, site="loop.py:9")
    return machine


def batches(streams: int) -> Machine:
    """One thread, inputs and outputs with buffers of their own, everything launched before one wait."""
    machine = Machine()
    for item in range(IMAGES):
        buffers = f"{item}+0:64", f"{100 + item}+0:64"
        machine.execute(BATCH, stream=1 + item % streams, blocks=5, touches=buffers)
    for stream in range(streams):
        machine.sync(1 + stream)
    return machine


def late_event(late: bool) -> Machine:
    """The event behind the input is recorded after a large result that has nothing to do with it."""
    machine = Machine()
    for image in range(IMAGES):
        machine.copy(4000, pinned=True, stream=2, touches="1+0:4000")
        if not late:
            machine.record(image % 2, 2)
        machine.copy(3 << 20, "d2h", pinned=True, stream=2, touches="7+0:3145728")
        if late:
            machine.record(image % 2, 2)
        machine.wait(image % 2, 1)
        machine.execute(BATCH, touches=("1+0:4000", "2+0:8000"))
        machine.sync()
        machine.copy(8000, "d2h", pinned=True, touches="2+0:8000")
    return machine


def edges(logging: float) -> Machine:
    """Marked steps of one blocking execution, with logging between them."""
    machine = Machine()
    for number in range(IMAGES):
        start = machine.now
        machine.work(logging)
        machine.execute(BATCH, blocking=True)
        machine.step(number, start)
    return machine


def edges_beside(logging: float) -> Machine:
    """The same with the logging on another thread, one step behind."""
    machine, worker = Machine(), Worker(logging)
    for number in range(IMAGES):
        start = machine.now
        worker.take(machine)
        machine.execute(BATCH, blocking=True)
        machine.step(number, start)
    return machine


def contended(slow: float) -> Machine:
    """For a while another thread is inside calls while this one copies descriptors."""
    machine = Machine()
    for number in range(200):
        beside = 30 <= number < 50
        start = machine.now
        for _ in range(2):
            machine.call("aclrtSetMemcpyDesc", slow if beside else 60)
        machine.execute([("Conv2D", 10.0)])
        if beside:
            until = machine.now
            machine.thread, machine.clocks[1] = 1, start
            machine.call("aclrtMallocHost", until - start)
            machine.thread = 0
    drain(machine)
    return machine


def outliers(count: int) -> Machine:
    def extra(machine: Machine, image: int) -> None:
        machine.call("aclmdlGetDesc", 6000 if image % 6 == 3 and image // 6 < count else 10)

    return pipelined(extra)


def handles(machine: Machine, _image: int) -> None:
    machine.call("aclrtCreateStream")
    machine.call("aclrtDestroyStream")


def answers(behind: Worker | None) -> Machine:
    """Every result is worked on before the next launch; its input is on the device already."""
    machine = Machine()
    for _image in range(IMAGES):
        machine.execute(BATCH)
        read(machine)
        if behind is None:
            machine.work(350)
        else:
            behind.take(machine)
    return machine


PLANTED = {
    "device-wide-sync": (lambda: device_wide(True), lambda: device_wide(False)),
    "implicit-sync": (lambda: flags(True), lambda: flags(False)),
    "launch-bound": (lambda: short_models(60), lambda: short_models(30)),
    "host-preprocess": (lambda: preparing(None), lambda: preparing(Worker(400))),
    "input-starved": (lambda: preparing(None, "dataloader"), lambda: preparing(Worker(400), "dataloader")),
    "python-gc": (lambda: collecting(4), lambda: collecting(0)),
    "one-stream": (lambda: feeds(3, False), lambda: feeds(3, True)),
    "one-stream of one thread": (lambda: batches(1), lambda: batches(4)),
    "false-dependency": (lambda: late_event(True), lambda: late_event(False)),
    "step-start-stall": (lambda: edges(120), lambda: edges_beside(120)),
    "create-destroy-in-loop": (lambda: pipelined(handles), pipelined),
    "thread-contention": (lambda: contended(300), lambda: contended(60)),
    "api-outliers": (lambda: outliers(3), lambda: outliers(0)),
    "post-process-serial": (lambda: answers(None), lambda: answers(Worker(350))),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_the_planted_cause_comes_first_and_gains_what_its_cure_gains(planted: str) -> None:
    slow, fast = (make() for make in PLANTED[planted])
    report = analyze(slow.made.trace())
    assert report.findings and report.findings[0].id == planted.split()[0], [(f.id, f.cause) for f in report.findings]
    gain = report.findings[0].gain
    assert gain is not None
    assert gain.ns / US == pytest.approx(slow.end - fast.end, rel=0.1)
    assert [f.id for f in report.findings[1:] if f.gain is not None] == []  # symptoms and what has no gain may follow


CLEAN: dict[str, Callable[[], Machine]] = {
    "pipelined": pipelined,
    "waits for one stream": lambda: device_wide(False),
    "flags stay on the device": lambda: flags(False),
    "launches faster than kernels": lambda: short_models(0),
    "descriptors alone": lambda: contended(60),
    "no outliers": lambda: outliers(0),
    "feeds on streams of their own": lambda: feeds(3, True),
    "batches on four streams": lambda: batches(4),
    "events in time": lambda: late_event(False),
    "short edges": lambda: edges(1),
    "one collection": lambda: pipelined(lambda m, i: m.marked("gc", 30) if i == 3 else None),
    "events made in the loop": lambda: pipelined(lambda m, _i: m.call("aclrtCreateEvent")),
    "results read at once": lambda: preparing(Worker(0)),
    "a long job": lambda: pipelined(images=200),
    "a little Python": lambda: pipelined(lambda m, _i: m.work(60)),
    "loading beside computing": lambda: pipelined(lambda m, _i: m.marked("dataloader", 60)),
}


@pytest.mark.parametrize("name", CLEAN)
def test_clean_programs_are_silent(name: str) -> None:
    assert [f.id for f in analyze(CLEAN[name]().made.trace()).findings] == []
