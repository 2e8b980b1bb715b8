"""Where ranks are judged: in this process, in processes of this machine, or on the workers of a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from profiler.trace import Unreadable

Item = TypeVar("Item")
Made = TypeVar("Made")
ANSWER = 10  # seconds in which a scheduler answers
SMALL = 64 << 20  # bytes of all profiles together; for less, starting workers takes longer than the work (0.4 s each)


class Runner(Protocol):
    """Runs one function on many items, in any order."""

    def run(self, work: Callable[[Item], Made], items: Sequence[Item]) -> Iterator[tuple[int, Made]]:
        """(place of the item, result) as they are done."""


class Here:
    """One after the other, in this process."""

    def run(self, work: Callable[[Item], Made], items: Sequence[Item]) -> Iterator[tuple[int, Made]]:
        for at, item in enumerate(items):
            yield at, work(item)


class Processes:
    """In `jobs` processes of this machine, each with one item at a time."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    def run(self, work: Callable[[Item], Made], items: Sequence[Item]) -> Iterator[tuple[int, Made]]:
        from concurrent.futures import ProcessPoolExecutor, as_completed
        from multiprocessing import get_context

        # A fork of a process that has threads (numpy's, the progress bar's) may stand still for ever.
        with ProcessPoolExecutor(min(self.jobs, len(items)), mp_context=get_context("forkserver")) as pool:
            places = {pool.submit(work, item): at for at, item in enumerate(items)}
            for done in as_completed(places):
                yield places.pop(done), done.result()


class Cluster:
    """On a Dask cluster whose workers see the same paths and have this package."""

    def __init__(self, scheduler: str) -> None:
        self.scheduler = scheduler

    def run(self, work: Callable[[Item], Made], items: Sequence[Item]) -> Iterator[tuple[int, Made]]:
        from distributed import Client, as_completed

        try:
            connected = Client(self.scheduler, timeout=ANSWER)
        except (OSError, ValueError) as error:
            raise Unreadable(
                f"no Dask scheduler answers at {self.scheduler}",
                "start one (dask scheduler), and give --scheduler tcp://HOST:PORT",
            ) from error
        with connected as client:
            futures: list[Any] = client.map(work, items, pure=False)
            places = {future.key: at for at, future in enumerate(futures)}
            for future in as_completed(futures):
                yield places[future.key], future.result()
                future.release()


def runner(total: int, jobs: int | None = None, scheduler: str | None = None) -> Runner:
    """The runner for profiles of so many bytes: jobs None = one process per core where that pays."""
    if scheduler is not None:
        return Cluster(scheduler)
    if jobs is None:
        jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        jobs = jobs if total >= SMALL else 1
    return Here() if jobs == 1 else Processes(jobs)
