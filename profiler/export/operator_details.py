"""operator_details.csv of a torch_npu profile: host and device time of each operator of the framework, us.

Host total is the operator's length, self without the operators inside it. Device self is what it launched itself, total with
those inside it; the last two count kernels on cores only. Shapes of operators are not recorded: those of their kernels stand in
kernel_details.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from profiler.export import columns, csvtext
from profiler.export.files import whole
from profiler.export.framework import operators, stacks, times
from profiler.trace import Trace

NAME = "operator_details"
HEADER = (
    "Name", "Input Shapes", "Call Stack", "Host Self Duration(us)", "Host Total Duration(us)", "Device Self Duration(us)",
    "Device Total Duration(us)", "Device Self Duration With AICore(us)", "Device Total Duration With AICore(us)",
)  # fmt: skip


def write(trace: Trace, path: Path) -> list[Path]:
    """The file; none where the trace has no operators of a framework."""
    rows = operators(trace)
    if not len(rows):
        return []
    marker = trace.marker.take(rows)
    texts = [columns.microseconds(np.maximum(t, 0)) for t in times(trace, rows)]
    names, shown_stacks = marker["name"].tolist(), stacks(trace, rows).tolist()
    with whole(path) as out:
        out.write(",".join(HEADER) + "\n")
        for n, (name, stack) in enumerate(zip(names, shown_stacks, strict=True)):
            shown = csvtext.field(trace.strings[stack].replace("\n", ";\r\n")) if stack >= 0 else ""
            out.write(f"{csvtext.field(trace.strings[name])},,{shown},{','.join(t[n] for t in texts)}\n")
    return [path]
