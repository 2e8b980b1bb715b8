"""Copy calls and copies that a file does not link are joined where there is only one way. Times in us."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from profiler.read import open_trace
from profiler.trace import Trace


def file(tmp_path: Path, sizes: list[int], tasks: list[int] | None = None, early: float = 0) -> Trace:
    """A blocking copy every 300: its call of 130, its task 100 into it; calls carry no id."""
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
        for pid, name in ((2, "CANN"), (3, "Ascend Hardware"))
    ]
    for number, size in enumerate(sizes):
        facts = {"level": "acl", "Mode": "ACL_RTS", "Kind": "H2D", "size": size}
        events.append({"ph": "X", "name": "AscendCL@aclrtMemcpy", "pid": 2, "tid": 7, "ts": 300 * number, "dur": 130, "args": facts})
    for number, size in enumerate(sizes if tasks is None else tasks):
        facts = {"Task Type": "MEMCPY_ASYNC", "connection_id": 50 + number, "size(B)": size, "operation": "H2D"}
        events.append({"ph": "X", "name": "MEMCPY", "pid": 3, "tid": 2, "ts": 300 * number + 100 - early, "dur": 20, "args": facts})
    path = tmp_path / "trace_view.json"
    path.write_text(json.dumps(events))
    return open_trace(path)


def joined(trace: Trace) -> list[int]:
    known = trace.api.get("correlation")
    return [] if known is None else known.tolist()


def test_as_many_of_each_size(tmp_path: Path) -> None:
    trace = file(tmp_path, [4096, 64, 4096])
    assert joined(trace) == trace.task["correlation"].tolist() == [50, 51, 52]


def test_one_size_that_does_not_add_up_stays_open(tmp_path: Path) -> None:
    """Three copies of 4096 for two calls: the first may be anyone's. The one of 64 is known."""
    trace = file(tmp_path, [4096, 64, 4096], tasks=[4096, 64, 4096, 4096])
    assert joined(trace) == [-1, 51, -1]


@pytest.mark.parametrize(("early", "known"), [(120, True), (130, False)])
def test_a_copy_does_not_begin_before_its_call(tmp_path: Path, early: float, known: bool) -> None:
    """Clocks of host and device may differ by 25."""
    assert joined(file(tmp_path, [4096, 4096, 4096], early=early)) == ([50, 51, 52] if known else [])
