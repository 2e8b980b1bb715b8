"""What the stack tells a recorder: the tables, their columns, and the Sink protocol. Silent by default.

A row is written with one call of positional values in the order of the table's columns; texts are interned first and
travel as int32 ids. No object is made per event. Rows hold ordinals (thread, stream, event, allocation), never process
ids, host addresses or Python ids, so that two runs under clock="model" give the same bytes. Times are int64 nanoseconds
of the simulated timeline, sizes are bytes; -1 means "no value".
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

SCHEMA = 1
HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # where the packages lie

LEVELS = ("acl", "model", "node", "communication", "runtime")
KINDS = ("kernel", "aicpu", "copy", "memset", "record", "wait", "dvpp", "callback", "notify_record", "notify_wait", "other")
DIRECTIONS = ("h2h", "h2d", "d2h", "d2d")
HOST_KINDS = ("pageable", "pinned")
MEMORY_EVENTS = ("alloc", "free", "sample")
MARKERS = ("step", "range", "mark", "gc", "dataloader", "cpu_op", "enqueue", "dequeue")
COMM_LEVELS = ("op", "part")
COMM_PARTS = ("transfer", "record", "wait", "reduce")


class Column(NamedTuple):
    """A column of a table."""

    name: str
    code: str  # struct code: q int64, i int32, b int8, d float64
    text: bool = False  # an id into the strings table


def _columns(spec: str) -> tuple[Column, ...]:
    """'start:q name:i*' -> columns; a star marks an id of a text. The last column is the row's commit mark (1)."""
    made = []
    for word in spec.split():
        name, code = word.split(":")
        made.append(Column(name, code[0], code.endswith("*")))
    return (*made, Column("ok", "b"))


TABLES: dict[str, tuple[Column, ...]] = {
    # One host call. blocking: 1 the call waited for the device, 0 it did not.
    "api": _columns(
        "start:q end:q correlation:q bytes:q thread:i stream:i device:i name:i* event:i ret:i site:i* "
        "level:b direction:b host_kind:b blocking:b"
    ),
    # One thing a device did. kernel: row of the kernel table or -1. reads/writes: texts "allocation+offset:bytes;..."
    "task": _columns(
        "start:q end:q ready:q correlation:q bytes:q device:i stream:i task_id:i name:i* task_type:i* kernel:i model:i "
        "event:i reads:i* writes:i* kind:b direction:b host_kind:b"
    ),
    # A kernel as compiled: one row per distinct kernel, written before the tasks that use it. Times in ns for one
    # uncontended run; cycles and ratios follow from them (spec of the counters: npu.cost.counters).
    "kernel": _columns(
        "name:i* op_type:i* task_type:i* op_state:i* hf32:i* in_shapes:i* in_dtypes:i* in_formats:i* out_shapes:i* out_dtypes:i* "
        "out_formats:i* origin:i* model_name:i* block_dim:i mix_block_dim:i duration:d read_bytes:d write_bytes:d flops:d "
        "aic_time:d aic_mac:d aic_scalar:d aic_mte1:d aic_mte2:d aic_fixpipe:d aic_icache_miss:d "
        "aiv_time:d aiv_vec:d aiv_scalar:d aiv_mte2:d aiv_mte3:d aiv_icache_miss:d"
    ),
    "memory": _columns(
        "time:q address:q bytes:q allocated:q reserved:q correlation:q allocation:i device:i component:i* site:i* event:b"
    ),
    "comm": _columns(
        "start:q end:q bytes:q count:q notify:q correlation:q device:i rank:i group:i* op:i name:i* plane:i src:i dst:i "
        "link:i* transport:i* algorithm:i* dtype:i* stream:i task_id:i level:b part:b"
    ),
    "counter": _columns("time:q value:d device:i name:i*"),
    "marker": _columns("start:q end:q thread:i device:i name:i* domain:i* stack:i* correlation:q kind:b"),
}


class Sink(Protocol):
    """Where events go. Found by name in NPU_SINK (module:function); the function takes the process facts and gives a Sink."""

    def text(self, text: str) -> int:
        """The id of a text, interned; written to the strings table before it is returned."""

    def writer(self, table: str) -> Callable[..., None]:
        """A function that appends one row: positional values in the order of TABLES[table], without the commit mark."""

    def meta(self, **facts: object) -> None:
        """Facts about the process and its devices; later ones replace earlier ones of the same name."""

    def close(self) -> None:
        """Flush and end; nothing is written afterwards."""


@runtime_checkable
class Profiled(Protocol):
    """A Sink that acl.prof can start and stop. One that is none hears nothing of it and records all the time."""

    def profile(self, what: str, **facts: object) -> None:
        """what: init (folder), start (devices as the script and machine_devices as the machine counts them, metrics, mask,
        options, at: ns of the timeline), stop, finalize. Afterwards writers are asked for anew. OSError for a folder that
        cannot be written."""


PROFILED = "profiler.record.sink:open_profiled"  # what acl.prof writes with where nothing else records


class NullSink:
    """The smallest Sink: hears everything, keeps nothing."""

    def text(self, text: str) -> int:
        return -1

    def writer(self, table: str) -> Callable[..., None]:
        return _ignore

    def meta(self, **facts: object) -> None:
        pass

    def close(self) -> None:
        pass


def _ignore(*_values: object) -> None:
    pass


def load_sink(environ: os._Environ[str] | dict[str, str] | None = None) -> Sink | None:
    """The sink NPU_SINK names, or None when nothing records. An unknown name is an ImportError with the name in it."""
    name = (os.environ if environ is None else environ).get("NPU_SINK", "")
    if not name:
        return None
    module, _, function = name.partition(":")
    sys.path.insert(0, HOME)  # a file of the same name beside the script would be found before ours
    try:
        found = importlib.import_module(module)
    finally:
        sys.path.remove(HOME)
    made: Sink | None = getattr(found, function or "open_sink")()
    return made
