"""msprof run --stacks: the whole Python stack of each call, in the trace, the findings, the timeline and the exports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import profiler
from profiler.findings import Evidence
from tests.scripts.conftest import Run

pytestmark = pytest.mark.slow  # many starts of programs

SCRIPT = """
import acl
acl.init(); acl.rt.set_device(0)
size = 1 << 22
class Pipeline:
    def __init__(self):
        self.device, _ = acl.rt.malloc(size, 0)
        self.host, _ = acl.rt.malloc_host(size)
    def upload(self):
        acl.rt.memcpy(self.device, size, self.host, size, 1)
def train(p): p.upload()
def infer(p): p.upload()
p = Pipeline()
for _ in range(20):
    train(p)
    infer(p)
"""
UPLOAD = "script.py:10 Pipeline.upload"


def short(text: str, folder: Path) -> list[str]:
    return [line.replace(f"{folder}/", "") for line in text.splitlines()]


def test_stacks_are_interned_and_the_call_site_stays_what_it_was(start: Run) -> None:
    ran = start("msprof", "run", "--stacks", "--clock", "model", "--no-summary", "script.py", script=SCRIPT)
    assert ran.code == 0, ran.err
    trace = profiler.open(ran.profs[0])
    copies = trace.api_named("aclrtMemcpy")
    stacks = [trace.strings[int(s)] for s in trace.api["stack"][copies]]
    assert [short(s, ran.folder) for s in stacks[:2]] == [
        [UPLOAD, "script.py:11 train", "script.py:15 <module>"], [UPLOAD, "script.py:12 infer", "script.py:16 <module>"]]
    assert len(stacks) == 40 and len(set(trace.api["stack"][copies].tolist())) == 2
    assert {trace.strings[int(s)] for s in trace.api["site"][copies]} == {f"{ran.folder}/script.py:10"}
    text = (ran.profs[0] / "npuscope" / "strings.bin").read_bytes()
    assert text.count(b"Pipeline.upload") == 2  # each distinct stack is written once
    allocated = [trace.strings[int(s)] for s in trace.memory["stack"]]
    assert short(allocated[0], ran.folder)[:2] == ["script.py:7 Pipeline.__init__", "script.py:13 <module>"]


def test_without_the_option_nothing_of_it_is_there(start: Run) -> None:
    ran = start("msprof", "run", "--clock", "model", "--no-summary", "script.py", script=SCRIPT)
    trace = profiler.open(ran.profs[0])
    assert "stack" not in trace.api and trace.strings[int(trace.api["site"][0])] == f"{ran.folder}/script.py:3"


@pytest.mark.slow
def test_they_are_shown_where_one_asks_who_called(start: Run) -> None:
    ran = start("msprof", "run", "--stacks", "--clock", "model", "script.py", script=SCRIPT)
    said = start("msprof", "analyze", str(ran.profs[0])).out
    assert f"called by: {ran.folder}/script.py:11 train < {ran.folder}/script.py:15 <module>" in " ".join(said.split())
    findings = json.loads(start("msprof", "analyze", str(ran.profs[0]), "--json").out)["findings"]
    shown = [e["stack"] for f in findings for e in f["evidence"] if e.get("stack")]
    assert shown[0][0] == f"{ran.folder}/{UPLOAD}" and {len(s) for s in shown} == {3}
    assert start("msprof", "timeline", str(ran.profs[0]), "-o", "page.html").code == 0
    assert "Pipeline.upload\\n" in (ran.folder / "page.html").read_text()
    (path,) = ran.profs[0].glob("mindstudio_profiler_output/msprof_*.json")
    stacks = {e["args"]["Call stack"] for e in json.loads(path.read_text()) if e["name"] == "AscendCL@aclrtMemcpy"}
    frames = ("script.py(10): Pipeline.upload", "script.py(11): train", "script.py(15): <module>")
    assert ";\r\n".join(f"{ran.folder}/{f}" for f in frames) in stacks and len(stacks) == 2
    start("msprof", "export", str(ran.profs[0]), "--as", "perfetto")
    (path,) = ran.profs[0].glob("perfetto_*.json")
    copies = [e for e in json.loads(path.read_text())["traceEvents"] if e["name"] == "AscendCL@aclrtMemcpy"]
    assert len(copies) == 40 and all("Pipeline.upload" in e["args"]["Call stack"] for e in copies)


def test_evidence_without_a_stack_is_as_it_was() -> None:
    assert Evidence("a", 0, 1).stack == ""
