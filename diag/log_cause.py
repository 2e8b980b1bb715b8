"""Of all that was hit, which is the cause: the earliest in time over files and ranks, not the loudest.

1. Sure hits (a line's own wording or its error-manager code) count before codes that a call returned: a code is only the carrier.
2. Who waited (symptoms: time-outs of collectives) is the cause only when nothing surer happened before, or within SOON of it.
3. A returned code is the cause when it came clearly before anybody waited (another rank crashed and only its code is there).
4. Of hits about the same event (same process, within TOGETHER) the most specific one speaks, with the facts of all of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from diag.log_rules import DETAIL, FAMILY, GENERIC, RETURNED, Hit, causes

SOON = 10_000_000_000  # ns; a fault noticed this much after the first wait gave up is a consequence of giving up
TOGETHER = 2_000_000_000  # ns between lines about one event
LATEST = 1 << 62


def kind_of(hit: Hit) -> str:
    return "cause" if hit.cause in GENERIC else causes()[hit.cause].kind


def group_of(hit: Hit) -> str:
    return hit.cause if hit.cause in GENERIC else causes()[hit.cause].group


def choose(hits: Iterable[Hit], first_times: dict[str, int]) -> Hit | None:
    """The hit that is the cause, None when there is none. first_times: earliest time told in each file, for lines before it."""
    when = Moment(first_times)
    told = sorted((h for h in hits if kind_of(h) != "harmless"), key=when)
    sure = [h for h in told if kind_of(h) == "cause" and h.sure < RETURNED]
    waited = [h for h in told if kind_of(h) == "symptom"]
    returned = [h for h in told if kind_of(h) == "cause" and h.sure == RETURNED and h.cause not in GENERIC]
    if sure and not (waited and when.of(sure[0]) > when.of(waited[0]) + SOON):
        return _most_specific(sure, when)
    if waited:
        before = next((h for h in returned if when.of(h) < when.of(waited[0]) - TOGETHER), None)
        return before or min(waited[: _within(waited, when)], key=lambda h: h.sure)
    if returned:
        return returned[0]
    after = [h for h in told if kind_of(h) == "after" and h.cause != "follows"]
    generic = [h for h in told if h.cause in GENERIC]
    rest = sorted([h for h in after if h.sure < RETURNED or h.codes] + generic, key=when)
    return next(iter(rest), None) or next(iter(told), None)


class Moment:
    """Order of hits: time, then file and line. A line before any time of its file takes the file's first one."""

    def __init__(self, first_times: dict[str, int]) -> None:
        self.first_times = first_times

    def of(self, hit: Hit) -> int:
        time = hit.line.time
        return time if time is not None else self.first_times.get(hit.line.file, LATEST)

    def __call__(self, hit: Hit) -> tuple[int, str, int]:
        return self.of(hit), hit.line.file, hit.line.number


def _within(hits: list[Hit], when: Moment) -> int:
    """How many of the first hits lie together with the first."""
    return sum(1 for h in hits if when.of(h) <= when.of(hits[0]) + TOGETHER)


def _most_specific(sure: list[Hit], when: Moment) -> Hit:
    first = sure[0]
    same = [h for h in sure if _same_process(first, h) and when.of(h) <= when.of(first) + TOGETHER]
    if first.sure == DETAIL:  # a detail of another cause's event must not give way to something unrelated
        same = [h for h in same if group_of(h) == group_of(first) or first.sure == FAMILY]
    return min(same, key=lambda h: (h.sure, when(h)))


def _same_process(one: Hit, other: Hit) -> bool:
    return one.line.pid == other.line.pid or None in (one.line.pid, other.line.pid)


def event_of(cause: Hit, hits: Iterable[Hit], first_times: dict[str, int]) -> list[Hit]:
    """The lines that speak of the same event as the cause, in order: same group and process, near in time."""
    when = Moment(first_times)
    near = [
        h
        for h in hits
        if group_of(h) == group_of(cause) and _same_process(cause, h) and abs(when.of(h) - when.of(cause)) <= TOGETHER
    ]
    return sorted({id(h): h for h in [cause, *near]}.values(), key=lambda h: (h is not cause, when(h)))
