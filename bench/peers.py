"""Beside other tools: `python bench/peers.py [kernels] [--text DIR --db DIR] [--venvs DIR] [--json] [--write]` (100,000 kernels).

1. Answers (peer_answers.py): four profiles of known cause through msprof-analyze's advisor and through us. The two real ones are
   the folders text/level1/rank0 and db/level1/rank0 of Ascend/msinsight's test data; without --text and --db the extracts in
   tests/data stand for them, in which much is left out.
2. Speed (peer_traces.py): one training-like run written as a torch_npu profile, as a Kineto trace and as a capture; each tool in
   a child process of its own, from start to finished analysis, imports told apart, with its peak memory.
3. Recording (peer_recorders.py): cost of a recorded call, bytes an event, opening the file.
The peers are installed by pip into virtual environments below --venvs when they are not there. --write makes docs/peers.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import analysis as made
import peer_answers as answers
import peer_process as process
import peer_recorders
import peer_traces as traces

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "peers.md"
OURS = process.MEASURE.format(
    imports="from profiler import open as open_trace\nfrom profiler.analysis import analyze",
    work="report = analyze(open_trace(sys.argv[1]))",
)
HTA = process.MEASURE.format(
    imports="from hta.trace_analysis import TraceAnalysis",
    work="""
found = TraceAnalysis(trace_dir=sys.argv[1])
found.get_temporal_breakdown(visualize=False)
found.get_idle_time_breakdown(visualize=False)
found.get_gpu_kernel_breakdown(visualize=False)
found.get_cuda_kernel_launch_stats(visualize=False)
""",
)
OPEN = process.MEASURE.format(imports="from profiler import open as open_trace", work="found = open_trace(sys.argv[1])")
HTA_OPEN = process.MEASURE.format(
    imports="from hta.trace_analysis import TraceAnalysis", work="found = TraceAnalysis(trace_dir=sys.argv[1])"
)


def speed(folder: Path, venvs: Path, kernels: int) -> dict[str, dict[str, Any]]:
    """Figures by tool and input."""
    folder.mkdir()
    run = traces.Events(kernels)
    profile, trace = traces.torch_npu(folder, run), traces.kineto(folder, run)
    capture = made.write(folder / "own", "eager", kernels)
    hta, viz = process.python_of(venvs, "HolisticTraceAnalysis"), process.python_of(venvs, "viztracer")
    advisor = process.python_of(venvs, "msprof-analyze").with_name("msprof-analyze")
    words = [str(advisor), "advisor", "all", "-d", str(profile), "-o", str(folder / "advice")]
    file = trace / "rank0.json"
    return {
        "open, Kineto trace: npuscope": process.measured(sys.executable, OPEN, file),
        "open, Kineto trace: HolisticTraceAnalysis 0.5.0": process.measured(hta, HTA_OPEN, trace),
        "open, Kineto trace: viztracer 1.1.1": process.measured(viz, peer_recorders.VIZ_OPEN, file),
        "analyze, Kineto trace: npuscope": process.measured(sys.executable, OURS, file),
        "analyze, Kineto trace: HolisticTraceAnalysis 0.5.0": process.measured(hta, HTA, trace),
        "analyze, torch_npu profile: npuscope": process.measured(sys.executable, OURS, profile),
        "analyze, torch_npu profile: msprof-analyze 26.2.0": process.command(words, profile, folder / "advice.txt"),
        "analyze, own capture: npuscope": process.measured(sys.executable, OURS, capture),
    }


def extract(source: Path, place: Path) -> Path:
    """A folder of tests/data as tools expect it: nothing compressed."""
    shutil.copytree(source, place)
    for packed in place.rglob("*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    return place


def page(told: dict[str, Any], rows: list[str]) -> Iterator[str]:
    """docs/peers.md."""
    yield "# Beside other tools"
    yield ""
    yield (
        f"One run of `{told['command']}` on {told['cores']} shared cores, Python {platform.python_version()}. "
        "Made by that run; not edited by hand."
    )
    yield ""
    yield "## The cause"
    yield ""
    yield "Four profiles of known cause, through msprof-analyze 26.2.0 (`advisor all`) and `msprof analyze DIR`. What is known:"
    yield ""
    yield from (f"- {name}: {truth}" for name, truth in told["truths"].items())
    yield ""
    yield "| profile | tool | cause named | time given | further items (with the time they state) | processor s | MB |"
    yield "|---|---|---|---|---|---|---|"
    yield from rows
    yield ""
    yield (
        "The time given by us is the gain a replay predicts. Further items are whatever else a tool lists, true or not, and what "
        "a reader has to weigh; without a time that cannot be done. That independent feeds share a stream is named from a "
        "capture, not from these files, which do not tell what is independent. msprof-analyze finds slow ranks when it is given "
        "all ranks' profiles; here it has one, whose waits name rank 5: its summary has the 102 ms of uncovered communication "
        "and no cause. Its times of operator sequences are sums and may exceed the run."
    )
    yield ""
    yield "## Speed"
    yield ""
    yield f"The same {told['kernels']:,} kernels and {told['calls']:,} calls for every tool, each in a process of its own:"
    yield ""
    yield "| what | processor s | wall s | peak MB |"
    yield "|---|---|---|---|"
    for name, figures in told["speed"].items():
        yield f"| {name} | {figures['cpu_s']:.1f} | {figures['import_s'] + figures['work_s']:.1f} | {figures['peak_mb']:.0f} |"
    yield ""
    yield (
        "From the start of the process, imports included. HolisticTraceAnalysis: breakdown, idle time, kernels and launches. "
        "viztracer only opens the file: it draws and does not judge. We apply all rules with replay. HolisticTraceAnalysis 0.5.0 "
        "needs pandas below 3."
    )
    yield ""
    yield "## Recording"
    yield ""
    yield "CPU time of a call, best of several; viztracer traces a Python function that returns its argument, we a pyACL call."
    yield ""
    yield "| recorder | unrecorded ns | recorded ns | added ns | bytes an event | events | processor s to open | MB |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, f in told["recording"].items():
        cost = f"{f['plain_ns']:.0f} | {f['recorded_ns']:.0f} | {f['added_ns']:.0f}"
        yield f"| {name} | {cost} | {f['bytes']:.0f} | {f['events']:,} | {f['cpu_s']:.2f} | {f['peak_mb']:.0f} |"
    yield ""
    yield (
        "A row of ours holds the call site, stream, sizes and ids of a call, and stays readable after a kill. viztracer's file "
        "is JSON and holds name, place, time and length of every Python call; ours holds calls of the device's library only."
    )


def main() -> None:
    """Print the tables, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kernels", nargs="?", default="100,000")
    parser.add_argument("--venvs", type=Path, default=Path(tempfile.gettempdir()) / "npuscope-peers", help="where the peers live")
    parser.add_argument("--text", type=Path, help="a torch_npu Level1 text profile: text/level1/rank0_ascend_pt")
    parser.add_argument("--db", type=Path, help="the same as a database: db/level1/rank0_ascend_pt")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="make docs/peers.md")
    given = parser.parse_args()
    kernels = int(given.kernels.replace(",", ""))
    told: dict[str, Any] = {"kernels": kernels, "calls": kernels + kernels // made.LAUNCHES, "cores": len(process.cores())}
    told["command"] = "python bench/peers.py --text DIR --db DIR --write" if given.text else "python bench/peers.py --write"
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        text = given.text or extract(ROOT / "tests/data/known_step/rank0_ascend_pt", folder / "extract-text")
        db = given.db or extract(ROOT / "tests/data/real/db/rank0_ascend_pt", folder / "extract-db")
        peer = process.python_of(given.venvs, "msprof-analyze")
        told["truths"], told["answers"] = {}, {}
        for number, profile in enumerate(answers.inputs(folder, text, db)):
            out = folder / f"answer{number}"
            out.mkdir()
            found = {"msprof-analyze": answers.advisor(peer, profile, out), "npuscope": answers.ours(profile, out)}
            told["truths"][profile.name] = profile.truth
            told["answers"][profile.name] = {tool: answer._asdict() for tool, answer in found.items()}
            rows += answers.lines(profile, found)
        told["speed"] = speed(folder / "speed", given.venvs, kernels)
        told["recording"] = peer_recorders.recorders(process.python_of(given.venvs, "viztracer"), folder)
    if given.write:
        PAGE.write_text("\n".join(page(told, rows)) + "\n", encoding="utf-8")
        print(PAGE)
    elif given.json:
        print(json.dumps(told, indent=1))
    else:
        print("\n".join(page(told, rows)))


if __name__ == "__main__":
    main()
