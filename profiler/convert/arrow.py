"""One table of a profile as Arrow (Feather V2) or Parquet, texts as dictionaries. Needs pyarrow, the extra `arrow`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from profiler.convert import tables
from profiler.trace import Columns, Trace


def write(traces: Sequence[Trace], table: str, path: Path) -> int:
    """The number of rows written; the suffix of the path chooses the form. ModuleNotFoundError without pyarrow."""
    import pyarrow as pa
    import pyarrow.feather as feather
    import pyarrow.parquet as parquet

    parts = [_part(pa, number, t, table) for number, t in enumerate(traces) if getattr(t, table)]
    whole = pa.concat_tables(parts, promote_options="permissive").unify_dictionaries()
    hidden = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if path.suffix == ".parquet":
            parquet.write_table(whole, hidden)
        else:
            feather.write_feather(whole, hidden, compression="uncompressed")
        hidden.replace(path)
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise
    return int(whole.num_rows)


def _part(pa: Any, number: int, trace: Trace, table: str) -> Any:
    columns: Columns = getattr(trace, table)
    made = {"profile": pa.array(np.full(len(columns), number, np.int32))}
    for name, title in tables.titles(columns):
        made[title] = _column(pa, trace, table, name, columns)
    return pa.table(made)


def _column(pa: Any, trace: Trace, table: str, name: str, columns: Columns) -> Any:
    """Texts are dictionaries of those that occur; -1 and NaN are null."""
    if not name:
        return pa.array(columns["end"] - columns["start"])
    column = np.ascontiguousarray(columns[name])
    codes = tables.ENUMS.get((table, name))
    if codes is not None:
        return pa.DictionaryArray.from_arrays(pa.array(column, mask=column < 0), pa.array(codes))
    if name in tables.TEXTS and column.dtype.kind == "i":
        known, which = np.unique(column, return_inverse=True)
        texts = [trace.strings[int(i)] for i in known]
        return pa.DictionaryArray.from_arrays(pa.array(which.astype(np.int32), mask=column < 0), pa.array(texts))
    if column.dtype.kind == "f":
        return pa.array(column, mask=np.isnan(column))
    return pa.array(column) if name in tables.TIMES else pa.array(column, mask=column == -1)
