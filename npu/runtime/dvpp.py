"""The media engine: its channels, and jobs of its units on a stream (vpc: pictures; codec_jobs: what is coded)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from npu.cost.dvpp import dvpp_ns
from npu.device.task import DVPP, PLAIN, Row, Task
from npu.errors import NpuError
from npu.runtime.process import Process
from npu.runtime.side import Side
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread


class Channel:
    """A channel and its description. id: -1 before it is opened; modes: which units it is for, 0 all; options by number."""

    def __init__(self) -> None:
        self.id = -1
        self.modes = 0
        self.options: dict[int, int] = {}

    @property
    def matrix(self) -> int:
        return self.options.get(0, 0)


MODES = {"vpc": 1, "jpegd": 2, "jpege": 4, "pngd": 8}


def opened(process: Process, handle: int, unit: str) -> Channel:
    """The open channel of a description. NpuError invalid_param when it is not open or not for that unit."""
    channel = process.get(handle, Channel, "invalid_param")
    if channel.id < 0 or (channel.modes and not channel.modes & MODES[unit]):
        raise NpuError("invalid_param", channel=channel.id, unit=unit, reason="the channel is not open, or not for that")
    return channel


def submit(
    process: Process, thread: HostThread, unit: str, name: str, pixels: int, work: Callable[[], None], stream: Stream,
    reads: Sequence[tuple[Side, int]], writes: Sequence[tuple[Side, int]],
) -> None:  # fmt: skip
    """Queue a job on a unit of the media engine; its values are worked out when it ends."""
    recording = process.recording
    thread.correlation = recording.correlation()
    row = PLAIN
    if recording.on:
        text = recording.text
        ins, outs = (text(";".join(s.range(n) for s, n in sides)) for sides in (reads, writes))
        row = Row(sum(n for _, n in writes), text(name), text(f"DVPP_{unit.upper()}"), reads=ins, writes=outs)
    task = Task(DVPP, dvpp_ns(unit, pixels, process.machine.chip), row, engine=unit)

    def done(_time: int) -> None:
        for side, _ in writes:
            side.touched()
        if process.knobs.compute:
            work()

    task.on_done, task.correlation = done, thread.correlation
    stream.submit(process, thread, task)
