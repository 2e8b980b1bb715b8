"""Stories with several ranks: what was planted is named, the fix is faster, the loss is the same on one device and on eight."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[2] / "samples"
STEP = re.compile(r"(main|fixed)\.py: .*?(\d+\.\d+) ms a step")


def played(start, name: str) -> tuple[str, dict[str, float]]:
    ran = start("python", str(SAMPLES / "ranks.py"), name, timeout=180)
    assert ran.code == 0, ran.out + ran.err
    return ran.out, {script: float(ms) for script, ms in STEP.findall(ran.out)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "findings", "faster"),
    [
        ("exchange-too-often", ("frequent-collectives:",), 2.0),
        ("slow-rank", ("late-rank: Waiting in collectives ends with rank 2",), 1.5),
        ("measured-bandwidth", ("slow-link: ", "from rank 0 to rank 1", "collective-below-model:"), 1.15),
    ],
)
def test_what_was_planted_is_named_and_the_fix_is_faster(start, name, findings, faster):
    out, ms = played(start, name)
    assert all(finding in out for finding in findings), out
    assert ms["main"] > faster * ms["fixed"]


@pytest.mark.slow
def test_the_loss_is_the_same_on_one_device_and_on_eight_with_and_without_overlap(start):
    out, ms = played(start, "data-parallel")
    losses = [float(loss) for loss in re.findall(r"loss (\d\.\d{6})", out)]
    assert len(losses) == 3
    assert max(losses) - min(losses) < 2e-6
    assert ms["fixed"] < ms["main"] - 0.1
    assert "host-sync-around-collective" in out


@pytest.mark.parametrize("name", ["exchange-too-often", "slow-rank", "measured-bandwidth", "data-parallel"])
def test_every_story_is_told_shortly(name):
    assert len((SAMPLES / name / "README.md").read_text(encoding="utf-8").splitlines()) <= 16
