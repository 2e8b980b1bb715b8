"""A job with one slow rank, and one with one slow link: msprof-analyze and our analyzer name the same culprit."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.contract.test_peers import analyze

pytestmark = [pytest.mark.peer, pytest.mark.slow]
SAMPLE = Path(__file__).parents[2] / "samples" / "slow-rank"
BIN = Path(sys.executable).parent
RANKS, STEPS = 4, 8
# 8 all-reduces of 4 MiB over a mesh: a quarter goes over each link twice, 1.5 us and 28 bytes a ns each time
PIECE = 1 << 20
LINK_MS = 2 * STEPS * (1500 + PIECE / 28) / 1e6
LINK_MB = 2 * STEPS * PIECE / 1e6


def ran(*words: str | Path, **environment: str) -> str:
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, **environment})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def job(folder: Path, script: str, **environment: str) -> Path:
    """The folder of a recorded job, with what the framework's profiler would have written of each rank."""
    ran(BIN / "msprof", "run", "--clock", "model", "--no-summary", "--nproc", str(RANKS), "--output", folder,
        SAMPLE / script, str(STEPS), **environment)  # fmt: skip
    ran(BIN / "msprof", "export", folder, "--as", "torch_npu")
    return folder


class Cluster:
    """What `msprof-analyze cluster -m all` wrote. steps: rank -> row; links: "src-dst" -> facts, of all operators."""

    def __init__(self, profiles: Path, out: Path) -> None:
        said = analyze("cluster", "-m", "all", "-d", str(profiles), "-o", str(out), cwd=out.parent)
        assert "cannot be mapped" not in said
        place = out / "cluster_analysis_output"
        with (place / "cluster_step_trace_time.csv").open(newline="") as file:
            self.steps = {int(r["Index"]): r for r in csv.DictReader(file) if r["Type"] == "rank"}
        matrix = json.loads((place / "cluster_communication_matrix.json").read_text())
        ((_, steps),) = matrix.items()
        ((_, operators),) = steps.items()
        (total,) = (facts for name, facts in operators.items() if name.startswith("Total Op Info@"))
        self.links: dict[str, dict[str, Any]] = total

    def column(self, name: str) -> dict[int, float]:
        return {rank: float(row[name]) for rank, row in self.steps.items()}


def test_a_slow_rank_is_named_by_both(tmp_path: Path) -> None:
    """Rank 2 works 8 ms in every step and the others 4: they wait 4 ms in each of 8 exchanges, the other 16 in transfers."""
    folder = job(tmp_path / "job", "main.py")
    found = Cluster(folder, tmp_path / "out")
    exposed = found.column("Communication(Not Overlapped)")
    assert exposed[2] == pytest.approx(1000 * LINK_MS, rel=1e-3)
    assert [exposed[rank] - exposed[2] for rank in (0, 1, 3)] == pytest.approx([STEPS * 4000] * 3, rel=1e-3)
    assert found.column("Free")[2] - found.column("Free")[0] == pytest.approx((STEPS - 1) * 4000, rel=1e-3)
    between = {pair: facts for pair, facts in found.links.items() if pair[0] != pair[2]}
    assert len(between) == RANKS * (RANKS - 1) and set(found.links) - set(between) == {f"{r}-{r}" for r in range(RANKS)}
    for facts in between.values():
        assert facts["Transport Type"] == "HCCS"
        assert facts["Transit Size(MB)"] == pytest.approx(LINK_MB) and facts["Transit Time(ms)"] == pytest.approx(LINK_MS, rel=1e-3)
    ours = json.loads(ran(BIN / "msprof", "analyze", folder, "--json"))["job"]["findings"]
    assert (ours[0]["id"], ours[0]["facts"]["rank"]) == ("late-rank-joint", "2")


def test_a_slow_link_is_named_by_both(tmp_path: Path) -> None:
    folder = job(tmp_path / "job", "fixed.py", NPU_SLOW_LINKS="0-1:4", NPU_COMPUTE="off")
    found = Cluster(folder, tmp_path / "out")
    speed = {pair: facts["Bandwidth(GB/s)"] for pair, facts in found.links.items() if pair[0] != pair[2]}
    assert min(speed, key=lambda pair: speed[pair]) == "0-1"
    assert speed.pop("0-1") == pytest.approx(LINK_MB / LINK_MS / 4, rel=1e-3)
    assert list(speed.values()) == pytest.approx([LINK_MB / LINK_MS] * 11, rel=1e-3)
    (link,) = json.loads(ran(BIN / "msprof", "analyze", folder, "--json"))["job"]["findings"]
    assert link["id"] == "slow-link"
    assert (link["facts"]["src"], link["facts"]["dst"]) == ("0", "1")
    assert link["facts"]["gbps"] == pytest.approx(LINK_MB / LINK_MS / 4, rel=1e-2)
