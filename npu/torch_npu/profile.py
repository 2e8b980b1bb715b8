"""torch_npu.profiler: records from inside the script into the layout *_ascend_pt.

The capture is one of acl.prof (npu.runtime.prof), begun and ended as the schedule says; who turns it into the layout is found by
name, as the recorder is.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import weakref
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from types import TracebackType
from typing import Any

from npu.events import MARKERS
from npu.runtime import marker, prof
from npu.runtime.prof import Config
from npu.torch_npu import place
from npu.torch_npu.profile_config import METRICS, ProfilerAction, ProfilerActivity, _ExperimentalConfig

WRITER = "profiler.convert.torch_profile:write"  # (PROF folder, parent, worker, facts, analyse) -> the *_ascend_pt folder
STACK_METRICS = ("self_cpu_time_total", "self_npu_time_total")
STEP = MARKERS.index("step")
RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
Handler = Callable[["profile"], None]


class profile:
    """activities: which sides; schedule: step -> ProfilerAction (none: all until stop); on_trace_ready: called with this when a
    span was recorded. A script calls step() at the end of each step, or uses it as a context."""

    def __init__(
        self, *, activities: Iterable[ProfilerActivity] | None = None, schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Handler | None = None, record_shapes: bool = False, profile_memory: bool = False, with_stack: bool =
        False,
        with_flops: bool = False, with_modules: bool = False, experimental_config: _ExperimentalConfig | None = None,
        use_cuda: bool | None = None,
    ) -> None:  # fmt: skip
        self.activities = set(activities or ProfilerActivity)
        self.schedule = schedule or (lambda _step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.config = experimental_config or _ExperimentalConfig()
        self.step_num = 0
        self._action = ProfilerAction.NONE
        self._folder: Path | None = None
        self._running: Config | None = None
        self._begun = 0
        self._stacks = self._stepped = False
        self._metadata: dict[str, Any] = {}

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        self._turn(self.schedule(self.step_num))

    def step(self) -> None:
        """A step of the script has ended."""
        self._mark()
        self._stepped = True
        self.step_num += 1
        ended = self._action is ProfilerAction.RECORD_AND_SAVE
        if ended:
            self._save()
        self._turn(self.schedule(self.step_num))

    def stop(self) -> None:
        if self._running is not None:
            if not self._stepped:  # what follows the last step is none
                self._mark()
            self._save()
        elif self._action is ProfilerAction.WARMUP:
            self._drop()
        self._action = ProfilerAction.NONE

    def add_metadata(self, key: str, value: str) -> None:
        self._metadata[str(key)] = str(value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """value: JSON. ValueError for what is none."""
        self._metadata[str(key)] = json.loads(value)

    def export_chrome_trace(self, output_path: str) -> None:
        """The timeline of the span recorded last, as one JSON file (compressed for .gz). RuntimeError when there is none."""
        if self._folder is None:
            raise RuntimeError("torch_npu.profiler: nothing was recorded; call this after stop(), or from on_trace_ready")
        parent = Path(mkdtemp(prefix="npu-profile-"))
        made = self._written(parent, "", True)
        content = (made / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_bytes()
        if str(output_path).endswith(".gz"):
            import gzip

            content = gzip.compress(content)
        Path(output_path).write_bytes(content)
        shutil.rmtree(parent)

    def export_stacks(self, output_path: str, metric: str = "self_cpu_time_total") -> None:
        """Call stacks of the span recorded last with their time, one a line, as flame graphs take them: frames from the outermost
        on, joined by semicolons, then us of the host (self_cpu_time_total) or the device (self_npu_time_total). RuntimeError when
        there is no span, or none with stacks; ValueError for another metric."""
        if metric not in STACK_METRICS:
            raise ValueError(f"torch_npu.profiler: metric {metric}; use one of {', '.join(STACK_METRICS)}")
        if self._folder is None:
            raise RuntimeError("torch_npu.profiler: nothing was recorded; call this after stop(), or from on_trace_ready")
        if not self.with_stack:
            raise RuntimeError("torch_npu.profiler: no stacks were recorded; make the profile with with_stack=True")
        module, _, _ = WRITER.partition(":")
        import_module(module).stacks(self._folder, Path(output_path), metric)

    def _turn(self, action: ProfilerAction) -> None:
        """From one action to the next: made ready in a warm-up, recording when a span begins."""
        if action is ProfilerAction.WARMUP and self._folder is None:
            self._ready()
        if action in RECORDING and self._running is None:
            self._record()
        self._action = action

    def _ready(self) -> None:
        self._drop()
        self._folder = Path(mkdtemp(prefix="npu-profile-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        with place.inside() as (process, thread):
            place.on(process, thread, place.seats.mine.device)
            place.called(process, thread, "aclprofInit", lambda: prof.init(process, str(self._folder)))

    def _record(self) -> None:
        if self._folder is None:
            self._ready()
        with place.inside() as (process, thread):
            devices = sorted({place.seats.mine.device, *place.state(process).contexts})
            wanted = Config(devices, METRICS[self.config.aic_metrics], self.config.mask(self.profile_memory))
            place.called(process, thread, "aclprofStart", lambda: prof.start(process, thread, wanted))
            self._running, self._begun, self._stepped = wanted, thread.clock.now, False
            self._stacks, process.recording.stacks = process.recording.stacks, self.with_stack or process.recording.stacks

    def _mark(self) -> None:
        """The step that has ended, on the host's timeline."""
        if self._running is None:
            return
        with place.inside() as (process, thread):
            marker.write(process, thread, STEP, f"ProfilerStep#{self.step_num}", "", self._begun, thread.clock.now)
            self._begun = thread.clock.now

    def _save(self) -> None:
        """End the span: the device finishes what is queued, then the handler gets it."""
        running = self._running
        if running is None:
            return
        from npu.torch_npu import waiting

        with place.inside() as (process, thread):
            for device in running.devices:
                waiting.synchronize_device(process, thread, device)
            place.called(process, thread, "aclprofStop", lambda: prof.stop(process, thread, running))
            place.called(process, thread, "aclprofFinalize", lambda: prof.finalize(process, thread))
            process.recording.stacks = self._stacks
        self._running = None
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)
            self._drop()

    def _drop(self) -> None:
        """Forget a span that nobody took; one that was only made ready is ended first."""
        if self._folder is None:
            return
        if self._action is ProfilerAction.WARMUP:
            with place.inside() as (process, thread):
                place.called(process, thread, "aclprofFinalize", lambda: prof.finalize(process, thread))
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder = None

    def _written(self, parent: Path, worker: str, analyse: bool) -> Path:
        """The span in its layout below a folder."""
        assert self._folder is not None
        module, _, name = WRITER.partition(":")
        made: Path = getattr(import_module(module), name)(self._folder, parent, worker, self.facts(), analyse)
        return made

    def facts(self) -> dict[str, Any]:
        """config and metadata as the layout's files state them."""
        common = {"activities": sorted(str(a) for a in self.activities), "schedule": None, "record_shapes": self.record_shapes,
                  "profile_memory": self.profile_memory, "with_stack": self.with_stack, "with_flops": False,
                  "with_modules": False}  # fmt: skip
        return {"config": {"common_config": common, "experimental_config": self.config.facts()}, "metadata": self._metadata}


def tensorboard_trace_handler(
    dir_name: str | None = None, worker_name: str | None = None, analyse_flag: bool = True, async_mode: bool = False
) -> Handler:
    """Writes each recorded span into a folder of its own below dir_name (default: ASCEND_WORK_PATH, else ./). async_mode: writing
    takes no time of the script here, so it is done at once all the same."""
    parent = Path(dir_name or os.environ.get("ASCEND_WORK_PATH") or ".").absolute()
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def handle(which: profile) -> None:
        parent.mkdir(parents=True, exist_ok=True)
        which._written(parent, worker, analyse_flag)

    return handle


def analyse(profiler_path: str = "./", *_args: Any, **_named: Any) -> None:
    """Write the files of spans that were recorded with analyse_flag=False."""
    module, _, _ = WRITER.partition(":")
    import_module(module).analyse(Path(profiler_path))
