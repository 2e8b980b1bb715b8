"""Scripts under the recorder: kernel names, waits, call sites, the profiler's own layout, the sample, the page's snippet."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import profiler
from npu import events
from profiler.analysis import analyze

pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'npuscope[torch]'")

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "samples" / "torch-item-every-step"
STEP = """
import torch, torch_npu
net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(2048, 10)).npu()
x = torch.randn(2, 3, 16, 16).npu()
loss = net(x).mul(2).add_(x.sum()).sum()
loss.backward()
print(loss.item())
"""
PROFILED = """
import sys, torch, torch_npu
from torch_npu.profiler import ProfilerLevel, _ExperimentalConfig, profile, schedule, tensorboard_trace_handler
net = torch.nn.Linear(16, 4).npu(); x = torch.randn(8, 16).npu()
config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
with profile(schedule=schedule(wait=1, warmup=1, active=3, repeat=1), on_trace_ready=tensorboard_trace_handler("out_pt"),
             profile_memory=True, with_stack=True, experimental_config=config) as p:
    for _ in range(7):
        net(x).sum().backward(); p.step()
"""


def test_operators_are_tasks_with_the_names_of_real_profiles(recorded):
    out, _ = recorded(STEP)
    trace = profiler.open(out)
    names = [trace.strings[int(n)] for n in trace.task["name"]]
    for wanted in ("aclnnMuls_MulsAiCore_Muls", "aclnnAdd_AddAiCore_Add", "aclnnAddmm_MatMulCommon_MatMulV2", "aclnnRelu_ReluAiCore_Relu",
                   "aclnnThresholdBackward_ReluGradAiCore_ReluGrad"):  # fmt: skip
        assert wanted in names
    types = [trace.strings[int(n)] for n in trace.task["op_type"] if n >= 0]
    assert types.count("Conv2D") == 1 and types.count("Conv2DBackpropFilter") == 1
    assert "Conv2DBackpropInput" not in types  # nobody asked for the image's gradient
    calls = [trace.strings[int(n)] for n in trace.api["name"]]
    assert "aclnnInplaceAdd" in calls
    assert calls[-3:] == ["aclrtMemcpyAsync", "aclrtSynchronizeStreamWithTimeout", "aclrtSynchronizeDevice"]  # item, the end
    at = trace.api_named("aclnnMuls")
    assert {trace.strings[int(s)].rpartition(":")[2] for s in trace.api["site"][at]} == {"5", "6"}  # mul, and its gradient


def test_every_kernel_follows_its_launch_of_24_us(recorded):
    out, _ = recorded(STEP)
    trace = profiler.open(out)
    rows = np.flatnonzero(trace.api_named("aclnnMuls", "aclnnRelu"))
    assert ((trace.api["end"] - trace.api["start"])[rows] == 19_000).all()
    marks = trace.marker["kind"] == events.MARKERS.index("cpu_op")
    by_name = {trace.strings[int(n)]: i for i, n in enumerate(trace.marker["name"]) if marks[i]}
    at = by_name["aten::relu"]
    assert trace.marker["end"][at] - trace.marker["start"][at] >= 24_000


def test_the_profiler_of_the_script_writes_its_own_layout(recorded, tmp_path):
    recorded(PROFILED)
    (made,) = (tmp_path / "out_pt").glob("*_ascend_pt")
    names = {p.name for p in (made / "ASCEND_PROFILER_OUTPUT").iterdir()}
    assert {"trace_view.json", "kernel_details.csv", "step_trace_time.csv", "op_statistic.csv", "api_statistic.csv"} <= names
    config = json.loads((made / "profiler_info_0.json").read_text())["config"]
    assert config["experimental_config"]["_profiler_level"] == "Level1" and config["common_config"]["with_stack"] is True
    (prof,) = made.glob("PROF_*")
    capture = profiler.open(prof)
    steps = capture.marker["kind"] == events.MARKERS.index("step")
    assert [capture.strings[int(n)] for n in capture.marker["name"][steps]] == [f"ProfilerStep#{n}" for n in (2, 3, 4)]


def test_the_sample_reads_the_loss_once_and_is_faster_by_what_the_report_says(recorded):
    said, spans, reports = [], [], []
    for script in ("main.py", "fixed.py"):
        out, printed = recorded(SAMPLE / script, "8")
        said.append(printed.splitlines()[0])
        newest = max(out.glob("PROF_*"), key=lambda p: p.stat().st_mtime)
        trace = profiler.open(newest)
        kinds = [trace.strings[int(n)] if n >= 0 else "" for n in trace.task["op_type"]]
        steps = np.sort(trace.task["start"][[kind == "NLLLoss" for kind in kinds]])
        spans.append(int(steps[-1] - steps[1]))  # of the device, over six steps; the first is warm-up
        reports.append(analyze(trace))
    assert said[0] == said[1]
    (read,) = (f for f in reports[0].findings if f.id == "implicit-sync")
    assert read.facts["per_step"] == 1 and read.facts["operators"] == "aten::_local_scalar_dense"
    (line,) = (n for n, text in enumerate((SAMPLE / "main.py").read_text().splitlines(), 1) if "loss.item()" in text and "shown" in text)
    assert read.sites[0].endswith(f"main.py:{line}") and not read.cause
    assert "implicit-sync" not in {f.id for f in reports[1].findings}
    assert read.gain is not None and reports[0].steps == 7
    assert read.gain.ns / 7 == pytest.approx((spans[0] - spans[1]) / 6, rel=0.15)


def test_launches_lie_inside_the_calls_and_follow_each_other(recorded):
    out, _ = recorded(STEP)
    trace = profiler.open(out)
    api, task = trace.api, trace.task
    launches = trace.api_named("launch")
    kernels = trace.tasks_of("kernel")
    assert sorted(api["correlation"][launches].tolist()) == sorted(task["correlation"][kernels].tolist())
    assert ((api["end"] - api["start"])[launches] == 5_500).all()
    (conv,) = np.flatnonzero(trace.api_named("aclopConv2D"))  # two conversions, the product, one conversion
    inside = launches & (api["start"] >= api["start"][conv]) & (api["end"] <= api["end"][conv])
    assert inside.sum() == 4 and api["end"][conv] - api["start"][conv] == 4 * 5_500 + 4_000


def test_kernels_name_the_memory_they_read_and_write(recorded):
    out, _ = recorded("import torch, torch_npu\nx = torch.ones(300, device='npu')\ny = x * 2\nz = y[100:] + 1\nprint(z.sum().item())\n")
    trace = profiler.open(out)
    kernels = np.flatnonzero(trace.tasks_of("kernel"))
    reads, writes = ([trace.strings[int(n)] if n >= 0 else "" for n in trace.task[side][kernels]] for side in ("reads", "writes"))
    block = writes[0].partition("+")[0]  # of the fill; blocks are of 512 bytes
    assert writes[0] == reads[1] == f"{block}+0:1200" and writes[1] == f"{block}+1536:1200"
    assert reads[2] == f"{block}+{1536 + 400}:800" and writes[2] == reads[3] == f"{block}+3072:800"


def test_importing_torch_is_enough(recorded):
    _, printed = recorded("import torch\nprint(torch.ones(2).npu().sum().item(), torch.npu.is_available())\n")
    assert printed.splitlines()[0] == "2.0 True"


def test_the_snippet_of_the_page_runs(recorded):
    (snippet,) = re.findall(
        r"^```py\n(.*?)^```", (ROOT / "docs" / "torch.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    _, printed = recorded(snippet)
    assert float(printed.split()[0]) > 0
