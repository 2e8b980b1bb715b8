"""How fast many ranks are judged: `python bench/ranks.py [ranks] [tasks] [--jobs N] [--keep DIR] [--json]` (default 256 ranks
of 20,000 tasks).

Writes one capture a rank in the recorder's layout straight from numpy: steps of 1,000 kernels with an all-reduce among the
eight ranks of a server after every 250; one rank computes 30 % longer. Then `msprof analyze` judges all of them in a child
process, whose time, processor time (with its workers: what a shared machine does not change much) and peak memory (with its
workers, sampled every 50 ms) are printed. The answer is checked: the slow rank is named.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from captures import Rows, empty, write_prof

from npu import events

OPERATORS = ("MatMulV2", "Add", "LayerNorm", "SoftmaxV2", "Gelu", "Mul", "Cast", "BatchMatMul", "Embedding")
TEXTS = (
    *OPERATORS,
    "AI_CORE",
    "aclopExecuteV2",
    "HcclAllReduce",
    "aclrtSynchronizeStream",
    "hcom_allReduce__0",
    "world",
    "HCCS",
    "SDMA",
    "step",
    "train.py:12",
)
STEP, BLOCK = 1_000, 250  # kernels of a step, and before each collective
CALL, GAP, LEAD, RETURN, TRANSFER = 1_500, 550, 2_000, 1_000, 200_000  # ns
SERVER = 8  # ranks that exchange with each other


def id_of(text: str) -> int:
    return TEXTS.index(text)


def arrivals(ranks: int, blocks: int, slow: int) -> Rows:
    """Length of each block of kernels per rank, ns: alike but for noise of 1 %, and 30 % longer on the slow rank."""
    random = np.random.default_rng(3)
    lengths = random.normal(1.0, 0.01, (ranks, blocks)) * BLOCK * 5_000
    lengths[slow] *= 1.3
    made: Rows = lengths.astype(np.int64)
    return made


def tables(rank: int, work: Rows, start: Rows, end: Rows) -> dict[str, Rows]:
    """Rows of one rank: work per block, and when each collective begins here and ends everywhere."""
    blocks = work.shape[1]
    count = blocks * BLOCK
    length = np.repeat(work[rank] // BLOCK, BLOCK)
    begin = np.repeat(start[rank] - work[rank], BLOCK) + np.tile(np.arange(BLOCK), blocks) * length
    task = empty("task", count)
    task["start"], task["end"], task["ready"], task["correlation"] = begin, begin + length - GAP, begin, np.arange(count)
    task["device"], task["stream"], task["task_id"] = rank % SERVER, 1, np.arange(count) % 65_536
    place = np.arange(count) % STEP
    task["kernel"] = task["name"] = np.where(place == 0, len(OPERATORS) - 1, place % (len(OPERATORS) - 1))
    task["task_type"], task["kind"] = id_of("AI_CORE"), events.KINDS.index("kernel")
    each = STEP // BLOCK
    first = start[rank][::each] - work[rank][::each] - LEAD  # of each step
    calls = STEP + each + 1  # kernels, collectives, and the wait for all of it
    api = empty("api", len(first) * calls).reshape(-1, calls)
    api["start"] = first[:, None] + np.arange(calls) * (CALL + 200)
    api["end"] = api["start"] + CALL
    for name, value in (("thread", 0), ("stream", 1), ("device", rank % SERVER), ("ret", 0), ("level", 0), ("blocking", 0)):
        api[name] = value
    exchange = np.arange(calls) % (BLOCK + 1) == BLOCK
    exchange[-1] = False
    kernel = ~exchange
    kernel[-1] = False
    api["name"][:, kernel], api["name"][:, exchange] = id_of("aclopExecuteV2"), id_of("HcclAllReduce")
    api["correlation"][:, kernel] = np.arange(count).reshape(-1, STEP)
    api["correlation"][:, exchange] = (count + np.arange(blocks)).reshape(-1, each)
    api["name"][:, -1], api["blocking"][:, -1] = id_of("aclrtSynchronizeStream"), 1
    api["end"][:, -1] = end[rank][each - 1 :: each] + RETURN
    api["site"], api = id_of("train.py:12"), api.ravel()
    return {
        "task": task,
        "api": api,
        "comm": exchanged(rank, start, end, count),
        "marker": steps(first, end[rank]),
    }


def exchanged(rank: int, start: Rows, end: Rows, first: int) -> Rows:
    """Comm rows of one rank: per block the operation, and per peer the wait for its arrival and the transfer to it."""
    ranks, blocks = start.shape
    group = rank // SERVER * SERVER
    peers = np.array([p for p in range(group, min(group + SERVER, ranks)) if p != rank])
    rows = empty("comm", blocks * (1 + 2 * len(peers))).reshape(blocks, -1)
    rows["device"], rows["rank"], rows["group"], rows["op"] = rank % SERVER, rank, id_of("world"), np.arange(blocks)[:, None]
    rows["link"], rows["transport"], rows["bytes"] = id_of("HCCS"), id_of("SDMA"), 4 << 20
    rows["stream"] = 1  # collectives take their turn among the kernels
    rows["correlation"] = first + np.arange(blocks)[:, None]
    rows["level"], rows["name"] = events.COMM_LEVELS.index("part"), id_of("hcom_allReduce__0")
    rows["level"][:, 0], rows["start"][:, 0], rows["end"][:, 0] = events.COMM_LEVELS.index("op"), start[rank], end[rank]
    for at, peer in enumerate(peers.tolist()):
        wait, move = rows[:, 1 + 2 * at], rows[:, 2 + 2 * at]
        wait["part"], move["part"] = events.COMM_PARTS.index("wait"), events.COMM_PARTS.index("transfer")
        wait["start"], wait["end"] = start[rank] + 100, np.maximum(start[rank] + 200, start[peer])
        move["start"], move["end"] = end[rank] - TRANSFER, end[rank]
        wait["src"], wait["dst"], move["src"], move["dst"] = peer, rank, rank, peer
        wait["plane"] = move["plane"] = at
    flat = rows.ravel()
    return flat[np.argsort(flat["start"], kind="stable")]


def steps(first: Rows, end: Rows) -> Rows:
    """A marker per step."""
    rows = empty("marker", len(first))
    rows["start"], rows["end"] = first - LEAD, np.append(first[1:] - LEAD, end[-1] + 2 * RETURN)
    rows["thread"], rows["name"], rows["kind"] = 0, id_of("step"), events.MARKERS.index("step")
    return rows


def write(parent: Path, ranks: int, tasks: int, slow: int) -> None:
    """One capture per rank, as the recorder would have left it."""
    blocks = max(1, tasks // STEP) * (STEP // BLOCK)
    work, server = arrivals(ranks, blocks, slow), np.arange(ranks) // SERVER
    begun = np.zeros(ranks, np.int64) + 1_000_000
    start, end = np.zeros_like(work), np.zeros_like(work)
    for block in range(blocks):
        start[:, block] = begun + work[:, block]
        last = np.zeros(server[-1] + 1, np.int64)
        np.maximum.at(last, server, start[:, block])
        end[:, block] = last[server] + TRANSFER
        begun = end[:, block] + 2_000 + (6 * LEAD if (block + 1) % (STEP // BLOCK) == 0 else 0)
    kernel = empty("kernel", len(OPERATORS))
    kernel["name"] = kernel["op_type"] = np.arange(len(OPERATORS))
    kernel["task_type"], kernel["block_dim"], kernel["duration"] = id_of("AI_CORE"), 20, 5_000
    for rank in range(ranks):
        prof = parent / f"PROF_{rank + 1:06}_20250101000000000_RANKSRANKSRANKS"
        write_prof(prof, {"kernel": kernel} | tables(rank, work, start, end), TEXTS, rank=rank, world_size=ranks)


def memory(pid: int, used: dict[int, float]) -> float:
    """Resident memory of a process and all below it, MB; shared pages count once per process. used: their processor seconds."""
    total, todo = 0, [pid]
    while todo:
        process = todo.pop()
        try:
            status = Path(f"/proc/{process}/status").read_text()
            total += int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
            user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
            used[process] = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
            todo += [int(p) for p in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
        except (OSError, StopIteration):
            continue
    return total / 1024


def main() -> None:
    """Write, judge, measure, check."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("ranks", nargs="?", type=int, default=256)
    parser.add_argument("tasks", nargs="?", type=int, default=20_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="write the captures there and leave them")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    slow = given.ranks // 3
    with tempfile.TemporaryDirectory() as scratch:
        parent = given.keep or Path(scratch)
        begun = time.perf_counter()
        write(parent, given.ranks, given.tasks, slow)
        written = time.perf_counter() - begun
        begun, peak = time.perf_counter(), 0.0
        used: dict[int, float] = {}
        command = [
            sys.executable,
            "-c",
            "from cli.msprof import main; main()",
            "analyze",
            str(parent),
            "--json",
            "--jobs",
            str(given.jobs),
        ]
        answer = Path(scratch) / "answer.json"
        with answer.open("w") as out, subprocess.Popen(command, stdout=out) as child:
            while child.poll() is None:
                peak = max(peak, memory(child.pid, used))
                time.sleep(0.05)
        seconds = time.perf_counter() - begun
        job = json.loads(answer.read_text())["job"]
    figures: dict[str, Any]
    if slow not in job["named"]:
        raise SystemExit(f"rank {slow} is the slow one; named: {job['named']}")
    figures = {"write_s": written, "analyze_s": seconds, "cpu_s": sum(used.values()), "peak_mb": peak}
    figures["answer"] = job["findings"][0]["claim"]
    print(json.dumps(figures, indent=1) if given.json else "\n".join(f"{n:10} {v}" for n, v in figures.items()))


if __name__ == "__main__":
    main()
