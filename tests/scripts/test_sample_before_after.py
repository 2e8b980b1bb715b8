"""Samples with a slow and a mended script: the finding is there, it is gone, and what was predicted is what came."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

SAMPLES = Path(__file__).parents[2] / "samples"
BIN = Path(sys.executable).parent


class Ran(NamedTuple):
    """Analyses of both scripts, what they printed, and the predicted and measured gain, ms."""

    before: dict[str, object]
    after: dict[str, object]
    said: list[str]
    measured: float


def ran(sample: str, out: Path) -> Ran:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("NPU", "ASCEND"))} | {"NPU_STATE_DIR": str(out / "state")}
    words = [sys.executable, str(SAMPLES / "before_after.py"), sample, "--out", str(out)]
    done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    reports = []
    for script in ("main", "fixed"):
        prof = next((out / sample / script).glob("PROF_*"))
        reports.append(
            json.loads(subprocess.run([BIN / "msprof", "analyze", prof, "--json"], capture_output=True, check=True).stdout)
        )
    for report in reports:  # with median costs the replay gives what was measured, and all of the path is explained
        replay = report["replay"]
        assert replay["modelled_us"] == pytest.approx(replay["measured_us"], rel=0.02) and replay["explained"] > 0.98
    found = re.search(r"measured (-?[\d.]+) ms", done.stdout)
    assert found is not None, done.stdout
    return Ran(reports[0], reports[1], done.stdout.splitlines(), float(found[1]))


def causes(report: dict[str, object]) -> dict[str, dict[str, object]]:
    """Findings that no other one explains, by id."""
    findings: list[dict[str, object]] = report["findings"]  # type: ignore[assignment]
    return {str(f["id"]): f for f in findings if not f["cause"]}


def lines_of(finding: dict[str, object], sample: str) -> str:
    """The source lines the finding names."""
    source = (SAMPLES / sample / "main.py").read_text(encoding="utf-8").splitlines()
    found = [str(site).rpartition(":") for site in finding["sites"]]  # type: ignore[attr-defined]
    assert {Path(path) for path, _, _ in found} == {SAMPLES / sample / "main.py"}
    return "\n".join(source[int(line) - 1] for _, _, line in found)


def gain(finding: dict[str, object]) -> float:
    return finding["gain"]["us"] / 1000  # type: ignore[index, no-any-return]


@pytest.mark.slow
def test_several_streams_and_no_wait_after_each_submission(tmp_path: Path) -> None:
    found = ran("sync-after-submit", tmp_path)
    before = causes(found.before)
    assert {"one-stream", "sync-every-submit"} <= set(before)
    assert not {"one-stream", "sync-every-submit"} & set(causes(found.after))
    assert "execute_async" in lines_of(before["one-stream"], "sync-after-submit")
    assert "synchronize_stream" in lines_of(before["sync-every-submit"], "sync-after-submit")
    assert found.measured == pytest.approx(found.before["joint"]["us"] / 1000, rel=0.15)  # type: ignore[index]
    assert found.measured > 0.5 * found.before["window"]["length_us"] / 1000  # type: ignore[index]


@pytest.mark.slow
def test_preprocessing_beside_the_device(tmp_path: Path) -> None:
    found = ran("host-preprocessing", tmp_path)
    before = causes(found.before)
    assert next(iter(before)) == "host-preprocess"
    assert "host-preprocess" not in causes(found.after)
    assert "memcpy_async" in lines_of(before["host-preprocess"], "host-preprocessing")
    assert found.measured == pytest.approx(gain(before["host-preprocess"]), rel=0.15)


@pytest.mark.slow
def test_copies_beside_the_model(tmp_path: Path) -> None:
    found = ran("copies-cost-more", tmp_path)
    before = causes(found.before)
    assert next(iter(before)) == "copy-exposed"
    again = {f["id"]: f["cause"] for f in found.before["findings"] if f["cause"]}  # type: ignore[attr-defined]
    assert again["pageable-copy"] == again["blocking-copy"] == "copy-exposed"
    assert not {"copy-exposed", "pageable-copy", "blocking-copy"} & set(causes(found.after))
    assert "rt.memcpy(" in lines_of(before["copy-exposed"], "copies-cost-more")
    assert found.measured == pytest.approx(gain(before["copy-exposed"]), rel=0.15)


@pytest.mark.slow
def test_a_pool_instead_of_buffers_for_every_frame(tmp_path: Path) -> None:
    found = ran("allocation-per-frame", tmp_path)
    before = causes(found.before)
    assert next(iter(before)) == "alloc-in-loop"
    assert "alloc-in-loop" not in causes(found.after)
    assert "acl.rt.free(" in lines_of(before["alloc-in-loop"], "allocation-per-frame")
    assert found.measured == pytest.approx(gain(before["alloc-in-loop"]), rel=0.15)
    first, second = (re.search(r"frames: ([\d.]+) to [\d.]+ ms, P99 ([\d.]+) ms", line) for line in found.said[:2])
    assert first is not None and second is not None
    assert 5 < float(first[1]) < 7 and 30 < float(first[2]) < 35 and 10 < float(second[2]) < 11.5


@pytest.mark.slow
def test_a_stream_for_each_feed(tmp_path: Path) -> None:
    found = ran("one-stream", tmp_path)
    before = causes(found.before)
    assert next(iter(before)) == "one-stream"
    assert "one-stream" not in causes(found.after)
    assert "execute_async" in lines_of(before["one-stream"], "one-stream")
    assert found.measured == pytest.approx(gain(before["one-stream"]), rel=0.15)
    first, second = (re.search(r"([\d.]+) ms for a frame of each", line) for line in found.said[:2])
    assert first is not None and second is not None
    assert 2.5 < float(first[1]) / float(second[1]) < 3.5
