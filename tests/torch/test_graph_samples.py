"""The samples of graph mode: the same answers, fewer launches, and the findings their pages name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import profiler
from profiler.analysis import analyze

pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'npuscope[torch]'")
pytest.importorskip("onnx_ir", reason="the graph engine is not installed: pip install 'npuscope[sim]'")
SAMPLES = Path(__file__).parents[2] / "samples"


def newest(out):
    return max(out.glob("PROF_*"), key=lambda p: p.stat().st_mtime)


def numbers(printed):
    return [float(n) for n in re.findall(r"\d+(?:\.\d+)?", printed.splitlines()[0])]


def test_a_service_as_one_graph(recorded):
    out, said = recorded(SAMPLES / "torch-serving" / "main.py", "5")
    found = {f.id: f for f in analyze(profiler.open(newest(out))).findings}
    (eager, total), foretold = numbers(said), found["single-op-mode"].gain
    _, said = recorded(SAMPLES / "torch-serving" / "fixed.py", "5")
    compiled, same = numbers(said)
    assert total == same
    assert compiled < 0.25 * eager
    per_step = foretold.ns / 4 / 1e6  # five requests, the last one has no beginning of a next step to end it
    assert per_step == pytest.approx(eager - compiled, rel=0.15)


def test_sizes_that_change_and_gears(recorded):
    out, said = recorded(SAMPLES / "torch-gears" / "main.py", "10")
    whole, requests, graphs, _ = numbers(said)
    assert (requests, graphs) == (10, 8)  # Dynamo stops after eight graphs
    findings = {f.id for f in analyze(profiler.open(newest(out))).findings}
    assert {"online-compile", "first-step-compile"} & findings
    _, said = recorded(SAMPLES / "torch-gears" / "fixed.py", "10")
    padded, _, compiling, _ = numbers(said)
    assert padded < 0.01 * whole and compiling < whole
