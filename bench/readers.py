"""How fast profiles are read, and in how much memory: a timeline of a million events, a kernel file, a database.
`python bench/readers.py [--rows N] [--json]`

Each file is made, then read in a process of its own: rows per second of process time (best of three) and its peak memory.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

READ = """
import json, resource, sys, time
import profiler.read.detect
from profiler.read import open_trace
best = 1e9
for _ in range(3):
    begun = time.process_time()
    trace = open_trace(sys.argv[1])
    best = min(best, time.process_time() - begun)
    if _ == 0:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"s": best, "mb": peak, "rows": {n: len(getattr(trace, n)) for n in ("api", "task", "comm", "marker")}}))
"""
ZERO = 1_736_408_883_000_000_000  # unix ns


def us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"


ARROW = '{"name":"HostToDevice%(id)d","ph":"%(ph)s","cat":"HostToDevice","id":"%(id)d","pid":%(pid)d,"tid":%(tid)d,"ts":"%(ts)s"}'
LAUNCH = (
    '{"name":"Node@launch","pid":1,"tid":77,"ts":"%s","dur":%s,"args":{"Thread Id":77,"Mode":"launch","level":"node","id":"0",'
    '"item_id":"aclnnMatMul_%d","connection_id":%d},"ph":"X"}'
)
TASK = (
    '{"name":"aclnnMatMul_%d","pid":2,"tid":2,"ts":"%s","dur":%.3f,"args":{"Model Id":4294967295,"Task Type":"AI_CORE",'
    '"Physic Stream Id":2,"Task Id":%d,"Batch Id":0,"Subtask Id":4294967295,"connection_id":%d},"ph":"X"}'
)


def timeline(path: Path, rows: int) -> Path:
    """As msprof writes it: of four events two are rows (a launch, a kernel) and two the ends of the arrow between them."""
    names = ((1, "CANN"), (2, "Ascend Hardware"))
    with path.open("w") as out:
        head = [{"name": "process_name", "pid": p, "tid": 0, "args": {"name": n}, "ph": "M"} for p, n in names]
        out.write("[" + ",".join(map(json.dumps, head)))
        for i in range(rows // 4):
            start, at = us(ZERO + i * 20_000), us(ZERO + i * 20_000 + 9000)
            some = (
                LAUNCH % (start, 3 + i % 7 / 4, i % 100, i),
                ARROW % {"id": i << 32, "ph": "s", "pid": 1, "tid": 77, "ts": start},
                TASK % (i % 100, at, 9 + i % 1000 / 100, i % 65536, i),
                ARROW % {"id": i << 32, "ph": "f", "pid": 2, "tid": 2, "ts": at},
            )
            out.write("," + ",".join(some))
        out.write("]")
    return path


KERNEL_HEADER = (
    "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task Duration(us),"
    "Task Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,"
    "Output Data Types,Output Formats,Context ID,aicore_time(us),aic_mac_ratio,aic_mte2_ratio,aiv_time(us),aiv_vec_ratio\n"
)
KERNEL = (
    '0,4294967295,%d,2,MatMul_%d,MatMul,dynamic,AI_CORE,%s\t,%.3f,1.5,20,0,NO,"""16,%d;16,16""",FLOAT16;FLOAT16,ND;ND,'
    '"""16,16""",FLOAT16,ND,N/A,5.5,0.%03d,0.5,N/A,N/A\n'
)


def kernels(path: Path, rows: int) -> Path:
    with path.open("w") as out:
        out.write(KERNEL_HEADER)
        for i in range(rows):
            out.write(KERNEL % (i % 65536, i % 100, us(ZERO + i * 20_000), 9 + i % 1000 / 100, i % 50, i % 1000))
    return path


def database(path: Path, rows: int) -> Path:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT)")
    texts = [*(f"MatMul_{i}" for i in range(100)), "AI_CORE", "launch", '"16,16;16,16"']
    connection.executemany("INSERT INTO STRING_IDS VALUES (?,?)", enumerate(texts))
    columns = {
        "TASK": "startNs endNs deviceId connectionId globalTaskId globalPid taskType contextId streamId taskId modelId",
        "COMPUTE_TASK_INFO": "name globalTaskId blockDim opType inputShapes",
        "CANN_API": "startNs endNs type globalTid connectionId name",
    }
    half = range(rows // 2)
    none = 4294967295
    values = {
        "TASK": ((ZERO + i * 20_000, ZERO + i * 20_000 + 9000, 0, i, i, 1, 100, none, 2, i % 65536, none) for i in half),
        "COMPUTE_TASK_INFO": ((i % 100, i, 20, 0, 102) for i in half),
        "CANN_API": ((ZERO + i * 20_000 - 5000, ZERO + i * 20_000 - 2000, 10000, 1 << 32 | 77, i, 101) for i in half),
    }
    for table, names in columns.items():
        connection.execute(f"CREATE TABLE {table} ({', '.join(f'{n} INTEGER' for n in names.split())})")
        connection.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(names.split()))})", values[table])
    connection.commit()
    connection.close()
    return path


FORMS: dict[str, tuple[str, Callable[[Path, int], Path]]] = {
    "timeline": ("trace_view.json", timeline),
    "kernels": ("op_summary_20260605170000.csv", kernels),
    "database": ("msprof_20260605170000.db", database),
}


def main() -> None:
    """Print rows per second and peak memory of each form."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for form, (name, make) in FORMS.items():
            path = make(Path(folder) / name, options.rows)
            done = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
            told = json.loads(done.stdout)
            figures[form] = {
                "rows_per_s": round(options.rows / told["s"]),
                "peak_mb": round(told["mb"]),
                "file_mb": round(path.stat().st_size / 1e6),
            }
            path.unlink()
    if options.json:
        print(json.dumps(figures, indent=1))
        return
    for form, figure in figures.items():
        print(f"{form:10} {figure['rows_per_s']:>9,} rows/s, {figure['peak_mb']} MB of memory, file of {figure['file_mb']} MB")


if __name__ == "__main__":
    main()
