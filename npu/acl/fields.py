"""Setters and getters of one field of the thing behind a handle, for the many functions that are nothing more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from npu.runtime.process import Process
from npu.runtime.thread import HostThread


def setter(kind: type, field: str) -> Callable[..., None]:
    """A body that puts its argument into a field. NpuError invalid_param for a handle of another kind."""

    def put(process: Process, thread: HostThread, handle: int, value: Any) -> None:
        setattr(process.get(handle, kind, "invalid_param"), field, value)

    return put


def getter(kind: type, field: str) -> Callable[..., Any]:
    """A body that answers a field."""

    def take(process: Process, thread: HostThread, handle: int) -> Any:
        return getattr(process.get(handle, kind, "invalid_param"), field)

    return take


def maker(kind: type) -> Callable[..., int]:
    """A body that makes a thing and answers its handle."""

    def make(process: Process, thread: HostThread) -> int:
        return process.register(kind())

    return make


def dropper(kind: type) -> Callable[..., None]:
    """A body that forgets a thing."""

    def drop(process: Process, thread: HostThread, handle: int) -> None:
        process.drop(handle, kind)

    return drop


def fields(kind: type, noun: str, names: tuple[str, ...]) -> dict[str, Callable[..., Any]]:
    """dvpp_set_{noun}_{name} and dvpp_get_{noun}_{name} for every name."""
    made: dict[str, Callable[..., Any]] = {}
    for name in names:
        made[f"dvpp_set_{noun}_{name}"] = setter(kind, name)
        made[f"dvpp_get_{noun}_{name}"] = getter(kind, name)
    return made
