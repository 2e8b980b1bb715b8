"""Recording side by side: what a recorded call costs in viztracer and here, bytes an event, opening the file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import analysis as made
import peer_process as process
import record

CALLS = 100_000
TIMES = 3  # processes a figure is the best of: on a shared machine one of them lies
# CPU time, best of several bursts, as bench/record.py measures ours.
VIZTRACER = """
import json, sys
from time import CLOCK_PROCESS_CPUTIME_ID, clock_gettime_ns
from viztracer import VizTracer
def call(x):
    return x
def cost():
    best = 1e9
    for _ in range(10):
        begun = clock_gettime_ns(CLOCK_PROCESS_CPUTIME_ID)
        for _ in range({calls} // 10):
            call(1)
        best = min(best, (clock_gettime_ns(CLOCK_PROCESS_CPUTIME_ID) - begun) / ({calls} // 10))
    return best
plain = cost()
tracer = VizTracer(tracer_entries=2 * {calls}, verbose=0)
tracer.start()
traced = cost()
tracer.stop()
tracer.save(sys.argv[1])
print(json.dumps({{"plain_ns": plain, "recorded_ns": traced, "added_ns": traced - plain}}))
"""
VIZ_OPEN = process.MEASURE.format(
    imports="from viztracer.report_builder import ReportBuilder",
    work="made = ReportBuilder([sys.argv[1]], verbose=0)\nmade.load_jsons()",
)
OUR_OPEN = process.MEASURE.format(
    imports="from profiler import open as open_trace",
    work="made = open_trace(sys.argv[1])\n"
    "sums = [int(table[n].sum()) for table in (made.api, made.task) for n in table if table[n].dtype.kind in 'iu']",
)


def _least(found: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: min(f[name] for f in found) for name in found[0]}


def recorders(python: Path, folder: Path) -> dict[str, dict[str, Any]]:
    """Figures by tool: ns a call (unrecorded, recorded), bytes an event, seconds and MB to open a file of CALLS events."""
    viz = folder / "viz.json"
    told = _least([process.measured(python, VIZTRACER.format(calls=CALLS), viz) for _ in range(TIMES)])
    told["added_ns"] = told["recorded_ns"] - told["plain_ns"]
    events = sum(e["ph"] == "X" for e in json.loads(viz.read_text())["traceEvents"])
    told |= {"events": events, "bytes": viz.stat().st_size / events}
    found = {"viztracer 1.1.1": told | process.measured(python, VIZ_OPEN, viz)}

    plain, recorded = (_least([record.measure(wanted) for _ in range(TIMES)]) for wanted in (False, True))
    capture = made.write(folder / "recorded", "eager", CALLS // 2)
    size = sum(p.stat().st_size for p in capture.rglob("*") if p.is_file())
    rows = CALLS // 2 + CALLS // 2 + CALLS // 2 // made.LAUNCHES  # launches, kernels, waits
    opened = process.measured(sys.executable, OUR_OPEN, capture)
    names = {"get_device": "npuscope, a call (get_device)", "record_event": "npuscope, a call and its task (record_event)"}
    for call, name in names.items():
        own = {"plain_ns": plain[call], "recorded_ns": recorded[call], "added_ns": recorded[call] - plain[call]}
        found[name] = own | {"events": rows, "bytes": size / rows} | opened
    return found
