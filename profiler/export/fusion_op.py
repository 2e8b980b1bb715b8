"""fusion_op: the kernels of the models that ran which do the work of several operators of the original graph."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np

from npu.dtypes import DTYPES
from profiler.export import columns, csvtext
from profiler.export.memory_record import kilobytes
from profiler.trace import Trace

NAME = "fusion_op"
HEADER = ("Device_id", "Model Name", "Model ID", "Fusion Op", "Original Ops", "Memory Input(KB)", "Memory Output(KB)",
          "Memory Weight(KB)", "Memory Workspace(KB)", "Memory Total(KB)")  # fmt: skip
BYTES = {name: size for _, size, name in DTYPES.values()}
KEYS = ("model", "model_name", "name", "origin", "in_shapes", "in_dtypes", "out_shapes", "out_dtypes")
JOINED = "+"  # between the names of original operators in a trace


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file; no file when no fused kernel of a model ran. Weights are among the inputs, so their own column is N/A like that
    of the workspace; total is input and output."""
    task = trace.task
    if not task or "origin" not in task or "model" not in task:
        return []
    keys = [columns.column(task, n) for n in KEYS]
    mine = np.flatnonzero((keys[0] >= 0) & (keys[3] >= 0))
    if not len(mine):
        return []
    rows, _ = columns.distinct([k[mine] for k in keys])
    lines = []
    for row in np.sort(mine[rows]).tolist():
        model, *ids = (int(k[row]) for k in keys)
        model_name, name, origin, in_shapes, in_dtypes, out_shapes, out_dtypes = (trace.strings[i] for i in ids)
        if JOINED not in origin:
            continue
        sizes = [tensors(in_shapes, in_dtypes), tensors(out_shapes, out_dtypes)]
        total = -1 if min(sizes) < 0 else sum(sizes)
        memory = (kilobytes(sizes[0]), kilobytes(sizes[1]), csvtext.NA, csvtext.NA, kilobytes(total))
        texts = (model_name or csvtext.NA, str(model), name, origin.replace(JOINED, ";"))
        lines.append(",".join(("host", *map(csvtext.field, texts), *memory)))
    return csvtext.write_table(folder, NAME, stamp, HEADER, [lines], len(lines)) if lines else []


def tensors(shapes: str, dtypes: str) -> int:
    """Bytes of the tensors of a list such as "1,8;8" with "FLOAT;FLOAT16"; -1 where a shape or type does not tell."""
    count = 0.0
    for shape, dtype in zip(shapes.split(";"), dtypes.split(";"), strict=False):
        dims = [int(d) for d in shape.split(",") if d.isdecimal()]
        if dtype not in BYTES or len(dims) != len([d for d in shape.split(",") if d]):
            return -1
        count += prod(dims) * BYTES[dtype]
    return int(count)
