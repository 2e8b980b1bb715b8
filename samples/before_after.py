"""Run a sample's main.py and fixed.py on the simulated device and compare what was predicted with what came.

usage: python before_after.py SAMPLE [--out FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from make_model import network
from onnx import save

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent


class Sample(NamedTuple):
    """The network (layers, side, channels, patch) and how many items the scripts process."""

    layers: int
    side: int
    channels: int
    items: int
    patch: int = 1


SAMPLES = {
    "sync-after-submit": Sample(12, 32, 24, 20),
    "host-preprocessing": Sample(24, 224, 32, 20),
    "copies-cost-more": Sample(3, 768, 24, 20),
    "allocation-per-frame": Sample(11, 168, 32, 20),
    "one-stream": Sample(160, 8, 32, 10, patch=32),
}


def call(*words: str | Path, out: Path) -> str:
    """Run an installed command in a folder; its output. A failure ends the run with what it said."""
    env = {**os.environ, "NPU_COMPUTE": "off"}  # only times are looked at
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, env=env, cwd=out, check=False)
    if done.returncode != 0:
        raise SystemExit(f"before_after: {' '.join(map(str, words))} failed ({done.returncode})\n{done.stdout}{done.stderr}")
    return done.stdout


def record(script: Path, items: int, out: Path) -> tuple[Path, str]:
    """Record a script under the model clock; its PROF folder and what it printed."""
    said = call(
        BIN / "msprof", "run", "--clock", "model", "--no-summary", "--output", script.stem, script, "net.om", str(items), out=out
    )
    return max((out / script.stem).glob("PROF_*")), said.splitlines()[0]


def spent(prof: Path) -> float:
    """From the first to the last copy or kernel, ms."""
    import profiler

    trace = profiler.open(prof)
    work = trace.tasks_of("kernel", "copy")
    return float(trace.task["end"][work].max() - trace.task["start"][work].min()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sample", choices=SAMPLES)
    parser.add_argument("--out", type=Path, default=Path("out"))
    given = parser.parse_args()
    sample, out = SAMPLES[given.sample], given.out.resolve() / given.sample
    out.mkdir(parents=True, exist_ok=True)
    save(network(sample.layers, sample.side, sample.channels, patch=sample.patch), out / "net.onnx")
    call(BIN / "atc", "--model=net.onnx", "--framework=5", "--output=net", "--soc_version=Ascend910B3",
         "--precision_mode=must_keep_origin_dtype", out=out)  # fmt: skip
    profs = []
    for name in ("main.py", "fixed.py"):
        prof, said = record(HERE / given.sample / name, sample.items, out)
        profs.append(prof)
        print(f"{name}: {said}; device work within {spent(prof):.2f} ms  ({prof})")
    report = json.loads(call(BIN / "msprof", "analyze", profs[0], "--json", out=out))
    for finding in (f for f in report["findings"] if f["gain"]):
        print(f"  {finding['id']}: predicted gain {finding['gain']['us'] / 1000:.2f} ms, at {', '.join(finding['sites'])}")
    print(f"predicted together {report['joint']['us'] / 1000:.2f} ms, measured {spent(profs[0]) - spent(profs[1]):.2f} ms")


if __name__ == "__main__":
    main()
