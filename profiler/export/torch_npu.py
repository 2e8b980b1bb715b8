"""The layout of torch_npu's profiler: {host}_{pid}_{time}_ascend_pt, which msprof-analyze and MindStudio Insight read best."""

from __future__ import annotations

import csv
import json
import os
import shutil
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from profiler.export import (
    api_statistic,
    communication_json,
    csvtext,
    info_json,
    op_statistic,
    op_summary,
    operator_details,
    step_trace_time,
    timeline_json,
    timeline_python,
    torch_db,
    torch_info,
    torch_memory,
)  # fmt: skip
from profiler.export.files import whole
from profiler.export.op_summary import Before
from profiler.export.switches import switched_off
from profiler.export.torch_steps import Numbered
from profiler.trace import Trace

OUTPUT = "ASCEND_PROFILER_OUTPUT"
STAMP = "0"
LEVEL0 = ("Step Id", "Name", "Type", "Accelerator Core", "Start Time(us)", "Duration(us)", "Wait Time(us)", "Block Dim")
# op_summary's columns under the names of kernel_details; all others keep theirs.
KERNEL_NAMES = {
    "Op Name": "Name", "OP Type": "Type", "Task Type": "Accelerator Core", "Task Start Time(us)": "Start Time(us)",
    "Task Duration(us)": "Duration(us)", "Task Wait Time(us)": "Wait Time(us)",
}  # fmt: skip


def export_torch_npu(trace: Trace, parent: Path, now: datetime | None = None, export_type: str = "text") -> Path:
    """The folder made in `parent`. Steps are those of the trace's markers; a rank the trace does not tell is rank 0.

    export_type: text, or db: then the database stands in place of the tables and the timeline, as the framework has it.

    FileExistsError when a folder of that name is there.
    """
    when = datetime.now() if now is None else now
    name, rank = info_json.host_identity(trace)[1] or "host", rank_of(trace)
    stamp = when.strftime("%Y%m%d%H%M%S") + f"{when.microsecond // 1000:03d}"
    place = parent / f"{name}_{trace.meta.get('pid', 0)}_{stamp}_ascend_pt"
    output = place / OUTPUT
    output.mkdir(parents=True)
    if export_type == "db":
        torch_db.fill(trace, output / f"ascend_pytorch_profiler_{rank}.db")
        _facts(trace, place, rank, export_type)
        return place
    level = dict(trace.meta.get("collection") or {}).get("level")
    with TemporaryDirectory(dir=place, prefix=".") as scratch:
        folder = Path(scratch)
        for module, title in ((op_statistic, "op_statistic"), (api_statistic, "api_statistic")):
            for path in module.write(trace, folder, STAMP):
                os.replace(path, output / f"{title}.csv")
        _trace_view(timeline_json.write(trace, folder, STAMP, before=(timeline_python.events_of,)), output)
        _kernel_details(op_summary.write(trace, folder, STAMP, Before("Step Id", Numbered(trace))), output, level == "l0")
    communication_json.write(trace, output)
    operator_details.write(trace, output / "operator_details.csv")
    step_trace_time.write(trace, output / "step_trace_time.csv")
    if "memory_record" not in switched_off(trace):
        torch_memory.write(trace, output)
    _facts(trace, place, rank, export_type)
    return place


def rank_of(trace: Trace) -> int:
    """The rank the files are called after."""
    ranks = trace.meta.get("ranks") or []
    rank = trace.meta.get("rank", ranks[0] if len(ranks) == 1 else 0)
    return rank if isinstance(rank, int) and rank >= 0 else 0


def _trace_view(files: list[Path], output: Path) -> None:
    """One array of all slices: the peers know one name only."""
    if not files:
        return
    with whole(output / "trace_view.json") as out:
        for number, path in enumerate(files):
            text = path.read_text(encoding="utf-8")
            out.write(text[:-1] if number == 0 else "," + text[1:-1])
        out.write("]")


def _kernel_details(files: list[Path], output: Path, short: bool) -> None:
    """op_summary under the names of the framework; short: the columns of level 0."""
    if not files:
        return
    with whole(output / "kernel_details.csv") as out:
        for number, path in enumerate(files):
            with path.open(encoding="utf-8") as lines:
                header = next(csv.reader([next(lines)]))
                names = [KERNEL_NAMES.get(n, n) for n in header]
                kept = [names.index(n) for n in LEVEL0] if short else range(len(names))
                if number == 0:
                    out.write(",".join(names[at] for at in kept) + "\n")
                if short:
                    out.writelines(",".join(csvtext.field(row[at]) for at in kept) + "\n" for row in csv.reader(lines))
                else:
                    shutil.copyfileobj(lines, out, 1 << 20)


def _facts(trace: Trace, place: Path, rank: int, export_type: str) -> None:
    """profiler_info_{rank}.json and profiler_metadata.json."""
    info = torch_info.info(trace, rank, export_type)
    for name, content in ((f"profiler_info_{rank}.json", info), ("profiler_metadata.json", torch_info.metadata(trace))):
        with whole(place / name) as out:
            json.dump(content, out, indent=1)
