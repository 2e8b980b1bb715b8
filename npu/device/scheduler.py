"""The discrete-event loop of one device.

Streams are FIFOs. The head of a stream starts when its time has come, its event or gate is there and its cores are free.
Tasks that share a bandwidth (copies of one direction, kernels on HBM) slow each other: with total demand D > 1 of a
resource, a task that demands d of it runs at 1 / (1 - d + d * D) of its nominal speed. Order is deterministic: by priority,
ready time, submission. What is submitted later never changes what has happened: `advance(now)` fixes all up to now.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from npu.device.task import AICPU, COPY, KERNEL, MEMSET, RECORD, WAIT, Task
from npu.errors import NpuError
from npu.soc import Soc

# Gap between two kernels of a sunk model and between queued tasks of one stream, ns (measured: 153-170 us per 294 kernels).
PROGRAM_GAP = 550
# A queued task of a stream starts this long after its predecessor (AIV 0.4-1.3 us, AIC 1.0-2.3 us measured; the low end).
QUEUE_GAP = 900

# What tasks share: copy engines by direction, the links to other devices, memory bandwidth, the units of the media engine.
RESOURCES = ("h2d", "d2h", "d2d", "link", "hbm", "vpc", "jpegd", "jpege", "pngd")

Emit = Callable[..., None]
Begin = Callable[[Task, int, int], int]  # task, now, limit of kernels -> how long it takes (ns each)
FAULTY = (KERNEL, AICPU, COPY, MEMSET)


class Stream:
    """One FIFO. error: the first failure of a task on it, not yet reported, and culprit that task. stops: whether a failure ends
    the stream (failed): what is queued behind it, then and later, is forgotten."""

    __slots__ = ("culprit", "error", "failed", "free_at", "id", "priority", "queue", "running", "stops")

    def __init__(self, number: int, priority: int = 0) -> None:
        self.id = number
        self.queue: deque[Task] = deque()
        self.running: Task | None = None
        self.free_at = 0  # earliest start of its next task
        self.error: NpuError | None = None
        self.culprit: Task | None = None
        self.priority = priority
        self.stops = self.failed = False

    @property
    def idle(self) -> bool:
        return not self.queue


class Scheduler:
    """Engines and streams of one device. `emit` gets one row per finished task (npu.events "task" order), None is silent."""

    def __init__(self, soc: Soc, device: int = 0, emit: Emit | None = None) -> None:
        self.soc, self.device, self.emit = soc, device, emit
        self.now = 0
        self.streams: dict[int, Stream] = {}
        self._busy: dict[int, Stream] = {}  # streams with something queued, by id, in order of first submission
        self._running: list[Task] = []
        self._aic, self._aiv, self._aicpu = soc.aic, soc.vector_cores, max(1, soc.aicpu)
        self._demand: dict[str, float] = dict.fromkeys(RESOURCES, 0.0)
        self.kernel_limit = 0  # ns a kernel may run, 0 for ever
        self.begin: Begin | None = None  # asked before each task that planned faults can strike
        self._sequence = 0
        self.busy_ns = {"aic": 0, "aiv": 0, "aicpu": 0, "hbm": 0}  # core-ns (hbm: ns at full bandwidth) so far, for utilisation
        self.tasks_done = 0

    # -- streams ---------------------------------------------------------------------------------------------------

    def add_stream(self, number: int, priority: int = 0) -> Stream:
        made = self.streams[number] = Stream(number, priority)
        return made

    def drop_stream(self, number: int) -> None:
        """Forget a stream and what is still queued on it."""
        self.clear(number)
        del self.streams[number]

    def clear(self, number: int) -> None:
        """Forget what a stream runs and what is queued on it; whoever waits for that goes on now."""
        stream = self.streams[number]
        if stream.running is not None:
            self._release(stream.running)
            stream.running = None
        self._forget(stream, self.now)

    def fail(self, number: int, error: NpuError) -> None:
        """End a stream for good: what it holds is forgotten, and whoever asks is told why."""
        stream = self.streams[number]
        self.clear(number)
        stream.error, stream.failed = error, True

    def _forget(self, stream: Stream, when: int) -> None:
        self._busy.pop(stream.id, None)
        for task in stream.queue:
            task.done_at = when
        stream.queue.clear()

    def submit(self, number: int, task: Task, now: int) -> None:
        """Queue a task; it cannot start before now, nor before what has been simulated already."""
        stream = self.streams[number]
        task.stream = number
        task.id = self._sequence
        self._sequence += 1
        task.ready = now if now > self.now else self.now
        if stream.failed:
            task.done_at = task.ready
            return
        if stream.priority:
            task.priority = stream.priority
        if task.kind == RECORD and task.event is not None:
            task.event.submitted += 1
        stream.queue.append(task)
        self._busy[number] = stream

    # -- time ------------------------------------------------------------------------------------------------------

    def next_event(self) -> int:
        """Time of the next start or end, or -1 when nothing more can happen without a new submission."""
        self._start_ready()
        best = -1
        for task in self._running:
            if best < 0 or task.end < best:
                best = task.end
        for stream in self._busy.values():
            if stream.running is None:
                task = stream.queue[0]
                when = task.ready if task.ready > stream.free_at else stream.free_at
                if task.limit and task.start >= 0:
                    when = task.start + task.limit
                if when > self.now and (best < 0 or when < best):
                    best = when
        return best

    def advance(self, until: int) -> None:
        """Simulate up to `until` (ns); later tasks stay as they are."""
        while True:
            if self._alone(until):
                continue
            when = self.next_event()
            if when < 0 or when > until:
                break
            self.now = when
            self._finish(when)
        if until > self.now:
            self.now = until

    def _alone(self, until: int) -> bool:
        """Run the next kernel from start to end in one step, where it ends by `until` and nothing else can happen before; False
        leaves all as it is. next_event and _finish come to the same while one stream is busy, in three times the time."""
        if len(self._busy) != 1 or self._running or self.begin is not None or self.kernel_limit:
            return False
        (stream,) = self._busy.values()
        task = stream.queue[0]
        if task.kind != KERNEL or task.program is not None or task.gate is not None or task.engine or task.start >= 0:
            return False
        start = max(task.ready, stream.free_at, self.now)
        end = start + task.duration
        if end > until or task.aic > self._aic or task.aiv > self._aiv or task.hbm > 1.0:
            return False
        task.start, task.since, task.end, self.now = start, start, end, end
        busy = self.busy_ns
        busy["aic"] += task.aic * task.duration
        busy["aiv"] += task.aiv * task.duration
        busy["hbm"] += int(task.hbm * task.duration)
        self._complete(task, end)
        return True

    # -- starting and ending ---------------------------------------------------------------------------------------

    def _start_ready(self) -> None:
        now = self.now
        heads = [s.queue[0] for s in self._busy.values() if s.running is None and s.free_at <= now and s.queue[0].ready <= now]
        if len(heads) > 1:
            heads.sort(key=_order)
        for task in heads:
            self._try_start(task, now)

    def _try_start(self, task: Task, now: int) -> None:
        if task.program is not None:
            step = task.program[task.step]
            task.kind, task.duration, task.aic, task.aiv, task.hbm = step.kind, step.duration, step.aic, step.aiv, step.hbm
        kind = task.kind
        end = now + task.duration
        if kind == WAIT or task.gate is not None:
            opened = self._opened(task, now)
            if opened < 0:
                return
            end = max(end, opened)
        elif kind == KERNEL:
            if task.aic > self._aic or task.aiv > self._aiv:
                return
            self._aic -= task.aic
            self._aiv -= task.aiv
        elif kind == AICPU:
            if not self._aicpu:
                return
            self._aicpu -= 1
        if task.start < 0 or task.program is not None:
            task.start = now
        if self.begin is not None and kind in FAULTY:
            end = now + self.begin(task, now, self.kernel_limit)
        if self.kernel_limit and kind in (KERNEL, AICPU) and end - now > self.kernel_limit:
            end = now + self.kernel_limit
            task.failure = NpuError("aicore_timeout" if kind == KERNEL else "aicpu_timeout", limit_us=self.kernel_limit // 1000)
        self.streams[task.stream].running = task
        task.left, task.rate, task.since, task.end = float(end - now), 1.0, now, end
        self._running.append(task)
        if task.engine:
            self._load(task.engine, 1.0)
        elif task.hbm:
            self._load("hbm", task.hbm)

    def _opened(self, task: Task, now: int) -> int:
        """When what a head waits for has come (0: long ago), -1 while it has not. After its limit it counts as come and failed.

        The event of another device can lie ahead of this device's present: then it has come at that later time."""
        if task.start < 0:
            task.start = now
            if task.on_start is not None:
                task.on_start(now)
        opened = 0
        if task.gate is not None:
            opened = task.gate()
        elif task.event is not None:
            opened = task.event.time if task.event.completed >= task.target else -1
        if opened < 0 and task.limit and now >= task.start + task.limit:
            task.failure = NpuError("wait_timeout", limit_us=task.limit // 1000)
            return 0
        return opened

    def _finish(self, when: int) -> None:
        ended = [t for t in self._running if t.end <= when]
        if len(ended) > 1:
            ended.sort(key=_order)
        for task in ended:
            self._release(task)
            self._complete(task, when)

    def _release(self, task: Task) -> None:
        self._running.remove(task)
        span = self.now - task.start
        if task.kind == KERNEL:
            self._aic += task.aic
            self._aiv += task.aiv
            self.busy_ns["aic"] += task.aic * span
            self.busy_ns["aiv"] += task.aiv * span
            self.busy_ns["hbm"] += int(task.hbm * span)
        elif task.kind == AICPU:
            self._aicpu += 1
            self.busy_ns["aicpu"] += span
        if task.engine:
            self._load(task.engine, -1.0)
        elif task.hbm:
            self._load("hbm", -task.hbm)

    def _complete(self, task: Task, when: int) -> None:
        stream = self.streams[task.stream]
        stream.running = None
        self.tasks_done += 1
        program = task.program
        if self.emit is not None:
            count, name, task_type, kernel, model, event, reads, writes, direction, host_kind = task.row
            if program is not None:
                step = program[task.step]
                name, task_type, kernel = step.name, step.task_type, step.kernel
            self.emit(
                task.start,
                when,
                task.ready,
                task.correlation,
                count,
                self.device,
                task.stream,
                self.tasks_done & 0xFFFF,
                name,
                task_type,
                kernel,
                model,
                event,
                reads,
                writes,
                task.kind,
                direction,
                host_kind,
            )
        if program is not None:
            if task.times is not None:
                task.times.append((task.start, when))
            if task.step + 1 < len(program) and task.failure is None:
                task.step += 1
                stream.free_at = when + PROGRAM_GAP
                return
        stream.queue.popleft()
        if not stream.queue:
            del self._busy[task.stream]
        stream.free_at = when + QUEUE_GAP if task.kind in (KERNEL, AICPU) else when
        task.done_at = when
        if task.kind == RECORD and task.event is not None:
            task.event.completed += 1
            task.event.time = when
        failure = task.failure
        if task.on_done is not None and failure is None:
            try:
                task.on_done(when)
            except NpuError as error:
                failure = error
            task.on_done = None  # blocks and streams remember their last task, and need not keep what it held
        if failure is not None:
            self._fail(stream, task, failure, when)

    def _fail(self, stream: Stream, task: Task, failure: NpuError, when: int) -> None:
        if stream.error is None:
            stream.error, stream.culprit = failure, task
        if stream.stops:
            stream.failed = True
            self._forget(stream, when)

    # -- shared bandwidth ------------------------------------------------------------------------------------------

    def _load(self, resource: str, change: float) -> None:
        """Add to the demand of a resource and set the speed of all that use it anew when it was or is over 1."""
        before = self._demand[resource]
        total = self._demand[resource] = before + change
        if total < 1e-9:
            total = self._demand[resource] = 0.0
        if before <= 1.0 and total <= 1.0:
            return
        for task in self._running:
            if task.engine == resource:
                share = 1.0
            elif resource == "hbm" and task.hbm:
                share = task.hbm
            else:
                continue
            task.left -= (self.now - task.since) * task.rate
            task.since = self.now
            task.rate = 1.0 / (1.0 - share + share * total) if total > 1.0 else 1.0
            task.end = self.now + max(0, round(task.left / task.rate))


def _order(task: Task) -> tuple[int, int, int]:
    return task.priority, task.ready, task.id
