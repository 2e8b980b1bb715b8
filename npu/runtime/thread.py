"""A host thread as the runtime knows it: its clock, its current context, whether it waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from npu.runtime.clock import HostClock

if TYPE_CHECKING:
    from npu.runtime.context import Context


NOTES = ("blocking", "bytes", "correlation", "device", "direction", "event", "host_kind", "site", "stream")


class HostThread:
    """until: while it waits, when it can go on (ns, -1 not yet); None when that is unknown. cores: the stream whose core limits
    it uses. The fields that clear() sets are what the call in progress wants recorded; the facade resets them at each call."""

    __slots__ = (
        "blocking",
        "bytes",
        "clock",
        "context",
        "cores",
        "correlation",
        "device",
        "direction",
        "event",
        "host_kind",
        "ident",
        "last_error",
        "last_task",
        "ordinal",
        "owner",
        "site",
        "stream",
        "until",
        "waiting",
    )

    def __init__(self, ordinal: int, clock: HostClock) -> None:
        self.ordinal, self.clock = ordinal, clock
        self.owner = threading.current_thread()
        self.ident = threading.get_ident()
        self.context: Context | None = None
        self.waiting = False
        self.until: Callable[[], int] | None = None
        self.cores = 0
        self.last_error = 0
        self.last_task = 0
        self.site = -1
        self.clear()

    def clear(self) -> None:
        self.correlation = self.bytes = self.stream = self.device = self.event = self.direction = self.host_kind = -1
        self.blocking = 0

    def notes(self) -> tuple[int, ...]:
        """What the call in progress has noted for its record."""
        return tuple(getattr(self, name) for name in NOTES)

    def note(self, values: tuple[int, ...]) -> None:
        """Put such notes back."""
        for name, value in zip(NOTES, values, strict=True):
            setattr(self, name, value)
