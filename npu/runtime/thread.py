"""A host thread as the runtime knows it: its clock, its current context, whether it waits."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from npu.runtime.clock import HostClock

if TYPE_CHECKING:
    from npu.runtime.context import Context


class HostThread:
    """Fields after `context` are what the call in progress wants recorded; the facade resets them at each call."""

    __slots__ = (
        "blocking",
        "bytes",
        "clock",
        "context",
        "correlation",
        "device",
        "direction",
        "event",
        "host_kind",
        "last_error",
        "ordinal",
        "owner",
        "site",
        "stream",
        "waiting",
    )

    def __init__(self, ordinal: int, clock: HostClock) -> None:
        self.ordinal, self.clock = ordinal, clock
        self.owner = threading.current_thread()
        self.context: Context | None = None
        self.waiting = False
        self.last_error = 0
        self.site = -1
        self.clear()

    def clear(self) -> None:
        self.correlation = self.bytes = self.stream = self.device = self.event = self.direction = self.host_kind = -1
        self.blocking = 0
