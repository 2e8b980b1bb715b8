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
# What else stands for a call, by module and function: the local variable that holds the name.
NAMED = {("npu.torch_npu.place", "called"): "name", ("npu.torch_npu.launch", "launch"): "shown"}
INNER = ("npu", "torch", "torch_npu")  # packages whose frames are not the script's


def calling(frame: FrameType | None = None) -> Calling:
    """The outermost call of the facade in the frames above (of this thread, or from a given frame on); below PyTorch the
    operator, or the call of the runtime it makes."""
    frame = sys._getframe(1) if frame is None else frame
    while frame is not None:
        code = frame.f_code
        if code.co_name == "call" and "full_name" in code.co_freevars:  # made by npu.acl.table.build
            above = frame.f_back
            site = f"{above.f_code.co_filename}:{above.f_lineno}" if above is not None else ""
            return Calling(str(frame.f_locals["full_name"]), site)
        if code.co_name in ("called", "launch"):
            local = NAMED.get((str(frame.f_globals.get("__name__")), code.co_name))
            if local is not None:
                return Calling(str(frame.f_locals[local]), _script_line(frame.f_back))
        frame = frame.f_back
    return NONE


def _script_line(frame: FrameType | None) -> str:
    """The first line that is neither ours nor PyTorch's; "" where there is none, as in the threads of its engine."""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] not in INNER:
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
