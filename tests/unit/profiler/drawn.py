"""Rows that hypothesis draws, as a trace: calls and tasks that overlap, nest, coincide and contradict each other. Times in us."""

from __future__ import annotations

from collections.abc import Sequence

from tests.made import Made

Row = tuple[int, str, int, int, int]  # thread or stream, name or kind, start, length, correlation (of which follow stream, event)


def drawn(calls: Sequence[Row], tasks: Sequence[Row]) -> Made:
    made = Made()
    for thread, name, start, length, number in calls:
        made.api(name, start, start + length, thread=thread, correlation=number, stream=number % 3, event=number % 2)
    for stream, kind, start, length, number in tasks:
        direction = 1 if kind == "copy" else -1
        made.task(kind, start, start + length, stream=stream, correlation=number, event=number % 2, direction=direction)
    return made
