"""Rule 72: what a capture's list of hazards says."""

from __future__ import annotations

import pytest

from profiler import texts
from profiler.analysis import analyze
from tests.made import Made
from tests.unit.profiler.said import loud


def made(*hazards: object) -> Made:
    trace = Made()
    trace.api("aclrtMemcpyAsync", 0, 10, correlation=1)
    trace.task("copy", 20, 120, correlation=1)
    trace.meta["hazards"] = list(hazards)
    return trace


def hazard(kind: str, second: int) -> dict[str, object]:
    """Between stream 1 at a.py:7 and a stream (-1 the host) at a.py:9."""
    first = {"name": "acl.rt.memcpy_async", "site": "a.py:7", "stream": 1}
    return {
        "kind": kind, "first": first, "second": {"name": "acl.rt.memcpy", "site": "a.py:9", "stream": second}, "memory": "device",
        "device": 0, "allocated": "a.py:3", "offset": 0, "bytes": 4096, "count": 2,
    }  # fmt: skip


@pytest.mark.parametrize(("kind", "second", "id"), [
    ("write-read", 2, "unordered-access"), ("write-write", 2, "unordered-access"), ("write-read", -1, "access-before-wait"),
    ("changed", -1, "buffer-changed-in-flight"), ("unwritten", 2, "unwritten-memory"),
])  # fmt: skip
def test_kinds_and_both_lines(kind: str, second: int, id: str) -> None:
    (finding,) = loud(made(hazard(kind, second)), "unordered-access")
    assert (finding.id, finding.severity, finding.gain, finding.sites) == (id, "critical", None, ("a.py:7", "a.py:9"))
    for lang in texts.LANGUAGES:
        said = texts.claim(finding, lang)
        assert all(part in said for part in ("a.py:7", "a.py:9", "4.00 KiB", "2")), said
        assert "a.py:9" in texts.advice(finding, lang) or id == "buffer-changed-in-flight"


def test_said_before_what_is_about_time() -> None:
    report = analyze(made(hazard("write-read", 2)).trace(), all_findings=True)
    assert report.findings[0].id == "unordered-access"


def test_silent_without_a_check_and_after_a_clean_one() -> None:
    assert loud(made(), "unordered-access") == []
    without = made()
    del without.meta["hazards"]
    assert loud(without, "unordered-access") == []


@pytest.mark.parametrize("broken", [None, "text", {"kind": "write-read"}, {"first": 1, "second": {}}])
def test_a_damaged_list_says_nothing(broken: object) -> None:
    assert loud(made(broken), "unordered-access") == []
