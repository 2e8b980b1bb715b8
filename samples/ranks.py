"""Run a sample's main.py and fixed.py as a job of several ranks, and what the analyzer says of the first.

usage: python ranks.py SAMPLE [--out FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent


class Sample(NamedTuple):
    """Ranks, steps, and what the environment makes slow."""

    ranks: int
    steps: int
    environment: Mapping[str, str] = {}


SAMPLES = {
    "exchange-too-often": Sample(8, 6, {"NPU_SOC": "Ascend910A"}),
    "slow-rank": Sample(4, 8),
    "measured-bandwidth": Sample(8, 24, {"NPU_SLOW_LINKS": "0-1:4", "NPU_COMPUTE": "off"}),
    "torch-slow-rank": Sample(4, 8),  # needs PyTorch
    "data-parallel": Sample(8, 20, {"NPU_SOC": "Ascend910A"}),  # its rings pass PCIe: an exchange takes long enough to be hidden
}


def run(name: str, script: str, ranks: int, out: Path) -> tuple[list[Path], str]:
    """Record a script; the PROF folders and the first line it printed."""
    sample = SAMPLES[name]
    folder = out / f"{Path(script).stem}-{ranks}"
    command = [BIN / "msprof", "run", "--clock", "model", "--no-summary", "--nproc", str(ranks), "--output", folder,
               HERE / name / script, str(sample.steps)]  # fmt: skip
    done = subprocess.run([str(w) for w in command], capture_output=True, text=True, cwd=out, check=False,
                          env={**os.environ, **sample.environment})  # fmt: skip
    if done.returncode != 0:
        raise SystemExit(f"ranks: {script} failed ({done.returncode})\n{done.stdout}{done.stderr}")
    return sorted(folder.glob("PROF_*")), done.stdout.splitlines()[0]


def of_rank(profs: list[Path], rank: int) -> Path:
    return next(p for p in profs if json.loads((p / "npuscope/meta.json").read_text())["rank"] == rank)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sample", choices=SAMPLES)
    parser.add_argument("--out", type=Path, default=Path("out"))
    given = parser.parse_args()
    name, sample = given.sample, SAMPLES[given.sample]
    out = given.out.resolve() / name
    out.mkdir(parents=True, exist_ok=True)
    if name == "data-parallel":
        print("one device:", run(name, "main.py", 1, out)[1])
    profs, said = run(name, "main.py", sample.ranks, out)
    print("main.py:", said)
    print("fixed.py:", run(name, "fixed.py", sample.ranks, out)[1])
    done = subprocess.run([BIN / "msprof", "analyze", of_rank(profs, 0), "--json"], capture_output=True, text=True, check=False)
    for finding in json.loads(done.stdout)["findings"]:
        print(f"  {finding['id']}: {finding['claim']}")


if __name__ == "__main__":
    main()
