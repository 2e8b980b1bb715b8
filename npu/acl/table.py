"""From the function table to callables: checks, lock, clock, codes and recording happen here, once, for every function."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from functools import cache
from importlib import resources
from types import CodeType
from typing import Any, NamedTuple

from npu.acl.convert import Converter, Element, NotList, Unfit, fitting, signature
from npu.cost import call_ns
from npu.errors import NpuError
from npu.events import LEVELS
from npu.runtime import process as processes
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

ENDING = 500000  # the public code for what has no code of its own
ACL_LEVEL = LEVELS.index("acl")
# letter of the table's returns column -> what stands in place of the value when the call failed
FAILED: dict[str, Callable[[], object]] = {"i": int, "f": float, "s": str, "d": dict, "l": list, "n": lambda: None}


class Function(NamedTuple):
    """A row of the table. returns: ret | none | bare[:letter] | letters of the values before the code. refused: the situation
    every call answers with where nothing is simulated, "" where there is a body."""

    name: str
    c_name: str
    args: str
    returns: str
    refused: str = ""


@cache
def table() -> tuple[Function, ...]:
    """All functions of the facade, in the order of data/pyacl.csv."""
    text = resources.files("npu").joinpath("data/pyacl.csv").read_text(encoding="utf-8")
    return tuple(Function(**row) for row in csv.DictReader(text.splitlines()))


def ending() -> bool:
    """Whether the interpreter goes down and nothing can be imported any more."""
    return sys.meta_path is None  # the interpreter takes it away first


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


def refusal(function: Function) -> Callable[..., Any]:
    """The body of a function that is listed and not simulated."""
    situation, name = function.refused, f"acl.{function.name}"

    def refuse(process: Process, thread: HostThread, *_args: object) -> Any:
        raise NpuError(situation, call=name)

    return refuse


def _mistake(name: str, converters: tuple[Converter, ...], args: tuple[object, ...]) -> Exception:
    """What the binding raises for arguments of which one does not convert."""
    for number, (convert, value) in enumerate(zip(converters, args, strict=False)):
        try:
            convert(value)
        except NotList:
            return TypeError(f"argument {number} is not list")
        except Unfit:
            break
        except Element:
            return ValueError(f"{name}: argument {number} holds an element of a wrong type")
    return TypeError(f"{name} args parse failed")


def build(function: Function, body: Callable[..., Any], module: str = "acl", level: int = ACL_LEVEL) -> Callable[..., Any]:
    """The callable a script sees. Body gets (process, thread, *arguments) and gives the value or raises NpuError. module: whose
    function it is; level: of its record."""
    converters, least = signature(function.args)
    most = len(converters)
    shape, failed = _shape(function.returns)
    c_name = function.c_name
    fits = fitting(function.args)
    only_code = function.returns == "ret"
    full_name = f"{module}.{function.name}"
    recorded = bool(c_name)
    cost = name = -1
    heard: object = None  # the recording that `name` and `site` are ids of
    code: CodeType | None = None  # where the last call stood: most functions are called from one place again and again
    instruction = site = -1
    getframe = sys._getframe

    def call(*args: object) -> Any:
        nonlocal cost, name, heard, code, instruction, site
        if not fits(args):
            if not most:
                args = ()
            elif not least <= len(args) <= most:
                raise TypeError(f"{full_name} args parse failed")
            else:
                try:
                    args = tuple([c(a) for c, a in zip(converters, args, strict=False)])
                except (Unfit, Element):
                    raise _mistake(full_name, converters, args) from None
        process = processes.running or processes.current()
        try:
            thread = process.local.thread
        except AttributeError:
            thread = process.thread()
        if not recorded:
            return shape(body(process, thread, *args), 0)
        if cost < 0:
            cost = call_ns(c_name)
        with process.lock:
            clock, recording = thread.clock, process.recording
            start = clock.now if clock.still else clock.enter()
            listening = recording.on
            if listening:
                if recording is not heard:
                    name, heard, code = recording.text(c_name), recording, None
                thread.correlation = thread.bytes = thread.stream = thread.device = thread.event = -1  # clear(), without a call
                thread.direction = thread.host_kind = -1
                thread.blocking = 0
                frame = getframe(1)
                if frame.f_code is not code or frame.f_lasti != instruction:
                    site, instruction = recording.site(frame), frame.f_lasti
                    code = None if recording.stacks else frame.f_code  # the frames below may be others next time
                thread.site = site
            clock.now = start + cost
            ret = 0
            try:
                if process.on_call is not None:
                    process.on_call()
                value = body(process, thread, *args)
            except ImportError:
                if not ending():
                    raise
                value, ret = failed(), ENDING  # a destructor calls while the interpreter goes down: a code, never an exception
            except NpuError as error:
                value, ret = failed(), process.refuse(c_name, thread, error)
            if listening:
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
                    ret,
                    thread.site,
                    level,
                    thread.direction,
                    thread.host_kind,
                    thread.blocking,
                )
            if not clock.still:
                clock.leave()
        return ret if only_code else shape(value, ret)

    call.__name__ = call.__qualname__ = function.name.rpartition(".")[2]
    call.__doc__ = f"{c_name}({function.args}) -> {function.returns}"
    return call
