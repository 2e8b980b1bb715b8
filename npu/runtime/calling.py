"""Which call of the facade a thread is in, looked up in its frames: nothing is noted on the way in, so asking is all it costs."""

from __future__ import annotations

import sys
from types import FrameType
from typing import NamedTuple


class Calling(NamedTuple):
    """name: as the script writes it, such as acl.rt.memcpy_async; site: file:line of the script; both "" outside of calls."""

    name: str
    site: str


NONE = Calling("", "")


def calling(frame: FrameType | None = None) -> Calling:
    """The outermost call of the facade in the frames above (of this thread, or from a given frame on)."""
    found = NONE
    frame = sys._getframe(1) if frame is None else frame
    while frame is not None:
        code = frame.f_code
        if code.co_name == "call" and "full_name" in code.co_freevars:  # made by npu.acl.table.build
            above = frame.f_back
            site = f"{above.f_code.co_filename}:{above.f_lineno}" if above is not None else ""
            found = Calling(str(frame.f_locals["full_name"]), site)
            break
        frame = frame.f_back
    return found
