"""Who waits for whom when nothing can happen any more: the cycle, or the end of the chain, in words.

A stream waits for what its head waits for: an event that another stream records behind something it waits for itself, an event
that is recorded nowhere, a notify or a value that nothing sets. A thread waits for a stream or an event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npu.device.task import CALLBACK, NOTIFY_RECORD, NOTIFY_WAIT, RECORD, WAIT, Task
from npu.events import KINDS
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

Node = tuple[int, int]  # device, stream
Held = Mapping[Node, Sequence[Task]]  # what each stream holds that is not idle
HEADS = {NOTIFY_WAIT: "waits for a notify that nothing records", CALLBACK: "waits for its callback, which no thread runs"}


def chain(process: Process, thread: HostThread, what: str) -> str:
    """Sentences from the thread that waits to the cycle or to the end. what: stream, event or report, as in a wait."""
    held = {(n, stream): tasks for n, handle in process.devices.items() for stream, tasks in handle.queued()}
    told: list[str] = []
    if what == "event":
        node, text = _recorder(held, thread.event, f"Thread {thread.ordinal} waits for event {thread.event}")
        told.append(text)
    else:
        node = next((n for n in held if n[1] == thread.stream), next(iter(held), None))
        if node is not None:
            told.append(f"Thread {thread.ordinal} waits for stream {node[1]}")
    seen: list[Node] = []
    while node is not None and node not in seen:
        seen.append(node)
        node, text = _next(held, node)
        told.append(text)
    if node is not None:
        ring = [n[1] for n in seen[seen.index(node) :]]
        told.append("A cycle: " + " -> ".join(f"stream {n}" for n in [*ring, ring[0]]))
    else:
        others = [str(t.ordinal) for t in process.threads if t is not thread and t.waiting]
        if others:
            told.append(f"Threads that wait as well and so record nothing: {', '.join(others)}")
    return " ".join(f"{sentence}." for sentence in told)


def _next(held: Held, node: Node) -> tuple[Node | None, str]:
    """(the stream that the head of a stream waits for, None at the end of the chain; the sentence)."""
    head, number = held[node][0], node[1]
    if head.kind == WAIT and head.event is not None:
        return _recorder(held, head.event.ordinal, f"Stream {number} waits for event {head.event.ordinal}")
    if head.gate is None:
        return None, f"Stream {number} is busy with a task ({KINDS[head.kind]})"
    owner = getattr(head.gate, "__self__", None)  # a notify, a collective
    if head.kind == NOTIFY_WAIT:
        for other, tasks in held.items():
            if any(t.kind == NOTIFY_RECORD and getattr(t.on_done, "__self__", None) is owner for t in tasks):
                return other, f"Stream {number} waits for a notify, which stream {other[1]} records only after its own wait"
    named = getattr(owner, "awaited", None)
    if callable(named):
        return None, f"Stream {number} waits for {named()}"
    return None, f"Stream {number} {HEADS.get(head.kind, 'waits for a value that nothing writes')}"


def _recorder(held: Held, event: int, begun: str) -> tuple[Node | None, str]:
    """The stream that holds a record of an event (ordinal)."""
    for node, tasks in held.items():
        if any(task.kind == RECORD and task.event is not None and task.event.ordinal == event for task in tasks):
            return node, f"{begun}, which stream {node[1]} records only after its own wait"
    return None, f"{begun}, which is recorded nowhere"
