"""How far something has come, with the time it still needs: on stderr, and only where that is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def counted(what: str, after: float = 0.0) -> Iterator[Callable[[int, int], None] | None]:
    """A function that takes (how many are done, of how many); None where nobody would see it. after: seconds that must have
    passed before anything is shown."""
    if not sys.stderr.isatty():
        yield None
        return
    begun = time.monotonic()
    with ExitStack() as shown:
        bars = [] if after else [_bar(what, shown)]

        def told(done: int, whole: int) -> None:
            if not bars and time.monotonic() - begun >= after:
                bars.append(_bar(what, shown))
            if bars:
                bars[0](done, whole)

        yield told


def _bar(what: str, shown: ExitStack) -> Callable[[int, int], None]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = shown.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
    task = bar.add_task(what, total=None)
    return lambda done, whole: bar.update(task, completed=done, total=whole)
