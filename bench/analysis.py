"""How fast the analyzer is: `python bench/analysis.py [tasks] [--kind eager|sunk|both] [--json]` (default 1,000,000 tasks, both).

Writes captures in the recorder's layout straight from numpy: `eager` launches every kernel by a call of its own and waits after
every 40 launches; `sunk` launches models of 200 kernels behind an input copy. Each is then opened and judged in a child process,
which measures the time of opening, steps, graph, one replay, each rule and all of them, and its peak memory.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from captures import Rows, empty, write_prof

from npu import events

OPERATORS = ("MatMulV2", "Add", "LayerNorm", "SoftmaxV2", "Gelu", "Mul", "Cast", "BatchMatMul", "Embedding")
STEP = 1_000  # kernels of a step, which begins with an Embedding; the others take turns
CALLS = ("aclopExecuteV2", "aclrtSynchronizeStream", "aclmdlExecuteAsync", "aclrtMemcpyAsync")
TEXTS = (
    *OPERATORS,
    *CALLS,
    "AI_CORE",
    "16,128,768;768,768",
    "16,128,768",
    "FLOAT16;FLOAT16",
    "FLOAT16",
    "ND;ND",
    "ND",
    "train.py:12",
)
LAUNCHES, MODEL = 40, 200  # kernels between two waits; kernels of a model
COPY_NS = 60_000
GAP, LEAD, CALL = 550, 2_000, 4_000  # ns: between queued kernels, from call to kernel, of a launching call
SHOWN_S = 0.05  # rules that take less have no line of their own


def id_of(text: str) -> int:
    return TEXTS.index(text)


def kernels() -> Rows:
    """One row per operator."""
    rows = empty("kernel", len(OPERATORS))
    rows["name"] = rows["op_type"] = np.arange(len(OPERATORS))
    texts = {
        "task_type": "AI_CORE",
        "in_shapes": "16,128,768;768,768",
        "out_shapes": "16,128,768",
        "in_dtypes": "FLOAT16;FLOAT16",
        "out_dtypes": "FLOAT16",
        "in_formats": "ND;ND",
        "out_formats": "ND",
    }
    for name, text in texts.items():
        rows[name] = id_of(text)
    rows["block_dim"], rows["duration"], rows["aic_time"], rows["aic_mac"] = 20, 5_000, 4_800, 3_000
    return rows


def run(ready: Rows, lengths: Rows) -> tuple[Rows, Rows]:
    """(starts, ends) of tasks that follow each other in each row: end = max(ready, end before + GAP) + length, by a running
    maximum of what is left when the lengths before are taken away."""
    before = np.cumsum(lengths + GAP, axis=1) - lengths - GAP
    starts = np.maximum.accumulate(ready - before, axis=1) + before
    return starts, starts + lengths


def eager(tasks: int) -> tuple[Rows, Rows]:
    """(api, task): blocks of LAUNCHES kernels, each with a call of its own, and a wait for the stream."""
    blocks = max(1, tasks // LAUNCHES)
    random = np.random.default_rng(7)
    lengths = random.gamma(4.0, 1_500, (blocks, LAUNCHES)).astype(np.int64) + 800
    launch = np.broadcast_to(np.arange(LAUNCHES, dtype=np.int64) * (CALL + 300), lengths.shape)
    starts, ends = run(launch + LEAD, lengths)
    back = np.maximum(ends[:, -1], launch[:, -1] + CALL) + 1_000
    period = back + 5_000
    begin = (np.cumsum(period) - period)[:, None] + 1_000_000
    api = empty("api", blocks * (LAUNCHES + 1)).reshape(blocks, LAUNCHES + 1)
    api["start"][:, :-1], api["end"][:, :-1] = launch + begin, launch + begin + CALL
    api["start"][:, -1], api["end"][:, -1] = launch[:, -1] + CALL + 300 + begin[:, 0], back + begin[:, 0]
    ids = np.arange(lengths.size, dtype=np.int64).reshape(lengths.shape)
    api["correlation"][:, :-1] = ids
    api["name"], api["name"][:, -1] = id_of("aclopExecuteV2"), id_of("aclrtSynchronizeStream")
    api["blocking"], api["blocking"][:, -1] = 0, 1
    api["thread"], api["stream"], api["device"], api["ret"], api["level"], api["site"] = 0, 1, 0, 0, 0, id_of("train.py:12")
    return api.ravel(), tasks_of(starts + begin, ends + begin, ids, -1)


def sunk(tasks: int) -> tuple[Rows, Rows]:
    """(api, task): an input copy and one call per model of MODEL kernels, which runs ahead of the device."""
    models = max(1, tasks // (MODEL + 1))
    random = np.random.default_rng(7)
    lengths = random.gamma(4.0, 1_500, (models, MODEL + 1)).astype(np.int64) + 800
    lengths[:, 0] = COPY_NS
    launch = np.arange(models, dtype=np.int64) * 40_000 + 1_000_000
    ready = np.repeat(launch + LEAD, MODEL + 1)[None, :]
    starts, ends = (side.reshape(models, MODEL + 1) for side in run(ready, lengths.reshape(1, -1)))
    api = empty("api", models * 2).reshape(models, 2)
    api["start"], api["end"] = np.stack((launch, launch + 5_000), 1), np.stack((launch + CALL, launch + 12_000), 1)
    ids = np.arange(models * 2, dtype=np.int64).reshape(models, 2)
    api["correlation"], api["blocking"], api["thread"], api["stream"], api["device"] = ids, 0, 0, 1, 0
    api["name"][:, 0], api["name"][:, 1] = id_of("aclrtMemcpyAsync"), id_of("aclmdlExecuteAsync")
    api["bytes"][:, 0], api["direction"][:, 0], api["host_kind"][:, 0] = 1 << 20, events.DIRECTIONS.index("h2d"), 1
    api["ret"], api["level"], api["site"] = 0, 0, id_of("train.py:12")
    correlation = np.concatenate((ids[:, :1], np.repeat(ids[:, 1:], MODEL, axis=1)), axis=1)
    task = tasks_of(starts, ends, correlation, 1).reshape(models, MODEL + 1)
    copies = task[:, 0]
    copies["kind"], copies["kernel"], copies["model"] = events.KINDS.index("copy"), -1, -1
    copies["bytes"], copies["direction"], copies["host_kind"] = 1 << 20, events.DIRECTIONS.index("h2d"), 1
    return api.ravel(), task.ravel()


def tasks_of(starts: Rows, ends: Rows, correlation: Rows, model: int) -> Rows:
    task = empty("task", starts.size)
    task["start"], task["end"], task["correlation"] = starts.ravel(), ends.ravel(), correlation.ravel()
    task["ready"], task["device"], task["stream"], task["model"] = task["start"], 0, 1, model
    place = np.arange(len(task)) % STEP
    task["kernel"] = task["name"] = np.where(place == 0, len(OPERATORS) - 1, place % (len(OPERATORS) - 1))
    task["task_type"], task["kind"] = id_of("AI_CORE"), events.KINDS.index("kernel")
    task["task_id"] = np.arange(len(task)) % 65_536
    return task


def write(parent: Path, kind: str, tasks: int) -> Path:
    """A capture as the recorder would have left it; gives its PROF folder."""
    prof = parent / "PROF_000001_20250101000000000_BENCHBENCHBENCH"
    api, task = {"eager": eager, "sunk": sunk}[kind](tasks)
    write_prof(prof, {"kernel": kernels(), "api": api, "task": task}, TEXTS)
    return prof


CHILD = """
import json, sys, time
import numpy, profiler.read.own, profiler.analysis.run
from profiler import open as open_trace
from profiler.analysis.context import Context
from profiler.analysis.edits import Scale
from profiler.analysis.run import report

def timed(name, call):
    begun = time.process_time()  # this process only, whatever else the machine does; numpy sorts and sums on one thread
    made = call()
    figures[name] = time.process_time() - begun
    return made

figures = {}
def peak():  # of this program: ru_maxrss would count the parent's memory at the fork
    line = next(l for l in open("/proc/self/status") if l.startswith("VmHWM"))
    return int(line.split()[1]) / 1024

first = peak()
trace = timed("open_s", lambda: open_trace(sys.argv[1]))
figures["opened_mb"] = peak()
if sys.argv[2] == "parts":
    context = timed("steps_s", lambda: Context(trace))
    timed("graph_s", lambda: context.graph)
    replay = timed("replay_made_s", lambda: context.replay)
    few = numpy.arange(0, len(trace.task), max(1, len(trace.task) // 100))
    most = numpy.arange(len(trace.task))
    timed("first_replay_s", lambda: replay.times())
    for name, rows in (("hundred_edits_s", few), ("all_edits_s", most)):
        timed(name, lambda rows=rows: replay.gain([Scale(rows, 0.5)]))
    exact = bool((replay.times() == context.graph.time).all())
    if not exact:
        raise SystemExit("the replay without edits is not exact")
elif sys.argv[2] == "rules":
    from profiler.analysis.rules import RULES
    context = Context(trace)
    for rule in RULES:
        before = peak()
        timed(f"rule {rule.id}_s", lambda rule=rule: list(rule.run(context)))
        figures[f"rule {rule.id}_mb"] = peak() - before
    figures = {n: v for n, v in figures.items() if n.startswith("rule ")}
    print(json.dumps(figures))
    raise SystemExit
else:
    timed("analyze_s", lambda: report(trace))
    figures["total_s"] = figures["open_s"] + figures["analyze_s"]
figures["peak_mb"] = peak()
figures["before_mb"] = first
print(json.dumps(figures))
"""


def measured(prof: Path) -> dict[str, float]:
    """The figures of three children: one takes the parts apart, one runs rule by rule (the first one that asks for something the
    rules share pays for it; MB: by how much the peak rose), one analyses."""
    figures: dict[str, float] = {}
    for what in ("parts", "rules", "whole"):
        done = subprocess.run([sys.executable, "-c", CHILD, str(prof), what], capture_output=True, text=True, check=True)
        figures |= json.loads(done.stdout)
    return figures


def main() -> None:
    """Print a table of both kinds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tasks", nargs="?", default="1,000,000", help="tasks per capture")
    parser.add_argument("--kind", choices=("eager", "sunk", "both"), default="both")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    figures = {}
    for kind in ("eager", "sunk") if given.kind == "both" else (given.kind,):
        with tempfile.TemporaryDirectory() as folder:
            figures[kind] = measured(write(Path(folder), kind, int(given.tasks.replace(",", ""))))
    if given.json:
        print(json.dumps(figures, indent=1))
        return
    for name in next(iter(figures.values())):
        what, _, unit = name.rpartition("_")
        if what.startswith("rule "):
            if unit == "s" and any(figures[kind][name] >= SHOWN_S for kind in figures):
                cells = "".join(f"{figures[kind][name]:10.3f} s{figures[kind][what + '_mb']:6.0f} MB" for kind in figures)
                print(f"{what:32}{cells}")
            continue
        cells = "".join(f"{figures[kind][name]:10.3f}" if unit == "s" else f"{figures[kind][name]:10.0f}" for kind in figures)
        print(f"{what:16}{cells} {unit}")


if __name__ == "__main__":
    main()
