"""From the function table to callables: checks, lock, clock, codes and recording happen here, once, for every function."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from npu.acl.convert import Unfit, signature
from npu.cost import call_ns
from npu.errors import NpuError
from npu.events import LEVELS
from npu.runtime import process as processes
from npu.runtime.messages import message

ACL_LEVEL = LEVELS.index("acl")
# letter of the table's returns column -> what stands in place of the value when the call failed
FAILED: dict[str, Callable[[], object]] = {"i": int, "f": float, "s": str, "d": dict, "l": list, "n": lambda: None}


class Function(NamedTuple):
    """A row of the table. returns: ret | none | bare[:letter] | letters of the values before the code."""

    name: str
    c_name: str
    args: str
    returns: str


@cache
def table() -> tuple[Function, ...]:
    """All functions of the facade, in the order of data/pyacl.csv."""
    text = resources.files("npu").joinpath("data/pyacl.csv").read_text(encoding="utf-8")
    return tuple(Function(r["name"], r["c_name"], r["args"], r["returns"]) for r in csv.DictReader(text.splitlines()))


def _shape(returns: str) -> tuple[Callable[[Any, int], Any], Callable[[], Any]]:
    """How a value and a code become what the caller gets, and the value of a failed call."""
    if returns == "ret":
        return (lambda _value, code: code), (lambda: None)
    if returns == "none":
        return (lambda _value, _code: None), (lambda: None)
    if returns.startswith("bare"):
        failed = FAILED[returns[5:] or "i"]
        return (lambda value, _code: value), failed
    made = [FAILED[c] for c in returns]
    if len(made) == 1:
        return (lambda value, code: (value, code)), made[0]
    return (lambda value, code: (*value, code)), (lambda: tuple(m() for m in made))


def build(function: Function, body: Callable[..., Any]) -> Callable[..., Any]:
    """The callable a script sees. Body gets (process, thread, *arguments) and gives the value or raises NpuError."""
    converters, least = signature(function.args)
    most = len(converters)
    shape, failed = _shape(function.returns)
    c_name = function.c_name
    error_text = f"acl.{function.name} args parse failed"
    recorded = bool(c_name)
    cost = name = -1
    heard: object = None  # the sink that `name` is an id of

    def call(*args: object) -> Any:
        nonlocal cost, name, heard
        if most:
            if not least <= len(args) <= most:
                raise TypeError(error_text)
            try:
                args = tuple([c(a) for c, a in zip(converters, args, strict=False)])
            except Unfit:
                raise TypeError(error_text) from None
        else:
            args = ()
        process = processes.current()
        thread = process.thread()
        if not recorded:
            return shape(body(process, thread, *args), 0)
        if cost < 0:
            cost = call_ns(c_name)
        with process.lock:
            clock, recording = thread.clock, process.recording
            start = clock.enter()
            thread.clear()
            listening = recording.on
            if listening:
                thread.site = recording.site(sys._getframe(1))
            clock.now = start + cost
            code = 0
            try:
                value = body(process, thread, *args)
            except NpuError as error:
                value, code = failed(), error.code
                thread.last_error = code
                process.recent_error = message(c_name, error)
            if listening:
                if name < 0 or recording.sink is not heard:
                    name, heard = recording.text(c_name), recording.sink
                recording.api(
                    start,
                    clock.now,
                    thread.correlation,
                    thread.bytes,
                    thread.ordinal,
                    thread.stream,
                    thread.device,
                    name,
                    thread.event,
                    code,
                    thread.site,
                    ACL_LEVEL,
                    thread.direction,
                    thread.host_kind,
                    thread.blocking,
                )
            clock.leave()
        return shape(value, code)

    call.__name__ = call.__qualname__ = function.name.rpartition(".")[2]
    call.__doc__ = f"{c_name}({function.args}) -> {function.returns}"
    return call
