"""The model file: a valid ONNX model whose kernels are local functions, with chip, build, inputs, outputs and plan as metadata.

Written by npu.graph, read by npu.runtime. Reading takes a walk over the top level of the protobuf (field 14 is
metadata_props, field 7 the graph, skipped by its length): no onnx import, a few milliseconds for 100 MB. Nothing is ever
unpickled, and everything read is checked, because model files come from strangers.
"""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from npu.aipp import Aipp
from npu.aipp import read as read_aipp
from npu.cost.kernel import FORMS, MAY_BE_ZERO, fits
from npu.cost.work import Work
from npu.dtypes import DTYPES, tensor_bytes

SUFFIX = ".om"
MAX_BYTES = 2 << 30  # protobuf's own limit
MOST_WORK = 1 << 60  # elements or bytes of a kernel
MAX_PLAN = 16 << 20  # a plan larger than this is not one of ours
PREFIX = "npu."


class BadModel(Exception):
    """Not a model file of ours, or a damaged one. `reason` says which check failed."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = path, reason


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or output. dims hold -1 where they are open; dtype is a key of DTYPES, format one of FORMATS.

    picture: bytes of one picture where the input takes pictures (static AIPP), dims [N, H, W, C]; 0 for others."""

    name: str
    dtype: str
    dims: tuple[int, ...]
    format: str = "ND"
    picture: int = 0

    def laid(self, dims: tuple[int, ...]) -> tuple[int, ...]:
        """The dims of the data for dims as scripts see them: pictures are rows of bytes (YUV420SP: half as many as dims say)."""
        return (dims[0], self.picture) if self.picture else dims

    @property
    def bytes(self) -> int:
        """Bytes of the tensor in its origin shape; 0 when a dim is open and for texts."""
        return tensor_bytes(self.laid(self.dims), self.dtype)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One planned kernel. Shapes are texts as profiles print them ("1,3,224,224;64,3,7,7"), in storage formats."""

    name: str
    op_type: str
    work: Work
    in_shapes: str = ""
    in_dtypes: str = ""
    in_formats: str = ""
    out_shapes: str = ""
    out_dtypes: str = ""
    out_formats: str = ""
    origin: str = ""  # names of the original nodes, joined by "+"
    stream: int = 0


@dataclass(frozen=True, slots=True)
class Model:
    """All of a model file but its arithmetic. memory: bytes of feature_map, weights, workspace, and what reuse saved.

    build: cann (version of the converter), command, precision_mode, fusion {pass: times}, time. gears: [] or the fixed
    shapes, each {input name: dims}. lifetimes: what lies in the feature map, (name of the kernel that makes it, first and last
    step that needs it, bytes). sha256 is of the file without its metadata digest, checked before arithmetic.
    """

    soc: str
    build: dict[str, Any]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    kernels: tuple[Kernel, ...]
    memory: dict[str, int] = field(default_factory=dict)
    gears: tuple[dict[str, tuple[int, ...]], ...] = ()
    dynamic: bool = False  # launched kernel by kernel instead of as one sunk task list
    gear_kernels: tuple[tuple[Kernel, ...], ...] = ()  # the task list of each gear; `kernels` is that of the largest
    planned: dict[str, tuple[int, ...]] = field(default_factory=dict)  # dynamic: the input shapes the Work of `kernels` is for
    events: tuple[tuple[int, int], ...] = ()  # (kernel that records, kernel that waits) where they lie on two streams
    aipp: tuple[Aipp, ...] = ()  # preprocessing of inputs
    lifetimes: tuple[tuple[str, int, int, int], ...] = ()


_WORK = ("form", "op", "dtype", "dims", "read_bytes", "write_bytes", "epilogue")
_KERNEL = (
    "name",
    "op_type",
    "in_shapes",
    "in_dtypes",
    "in_formats",
    "out_shapes",
    "out_dtypes",
    "out_formats",
    "origin",
    "stream",
)


def to_metadata(model: Model) -> dict[str, str]:
    """The metadata entries of a model: JSON texts, the kernels as columns."""
    plan = {"memory": model.memory, "gears": model.gears, "dynamic": model.dynamic, "tasks": _columns(model.kernels)}
    if model.gear_kernels:
        plan["gear_tasks"] = [_columns(kernels) for kernels in model.gear_kernels]
    if model.planned:
        plan["planned"] = model.planned
    if model.events:
        plan["events"] = model.events
    if model.lifetimes:
        plan["lifetimes"] = model.lifetimes
    if model.aipp:
        plan["aipp"] = [a.facts() for a in model.aipp]
    return {
        PREFIX + "soc": model.soc,
        PREFIX + "build": json.dumps(model.build),
        PREFIX + "io": json.dumps({"inputs": [asdict(t) for t in model.inputs], "outputs": [asdict(t) for t in model.outputs]}),
        PREFIX + "plan": json.dumps(plan, separators=(",", ":")),
    }


def _columns(kernels: Iterable[Kernel]) -> dict[str, list[Any]]:
    rows = list(kernels)
    tasks: dict[str, list[Any]] = {n: [getattr(k, n) for k in rows] for n in _KERNEL}
    if any(k.work.schedule for k in rows):
        tasks["work_schedule"] = [k.work.schedule for k in rows]
    return tasks | {f"work_{n}": [getattr(k.work, n) for k in rows] for n in _WORK}


def _kernels(tasks: dict[str, list[Any]], path: str) -> tuple[Kernel, ...]:
    """The inverse of _columns. BadModel for columns of unequal length; KeyError, TypeError, ValueError for malformed ones."""
    count = len(tasks["name"])
    if any(len(tasks[n]) != count for n in (*_KERNEL, *(f"work_{w}" for w in _WORK))):
        raise BadModel(path, "the task list has columns of unequal length")
    tuned = tasks.get("work_schedule", [()] * count)
    works = [_work(*row) for row in zip(*(tasks[f"work_{n}"] for n in _WORK), tuned, strict=True)]
    return tuple(
        Kernel(work=w, **dict(zip(_KERNEL, row, strict=True)))
        for w, row in zip(works, zip(*(tasks[n] for n in _KERNEL), strict=True), strict=True)
    )


def from_metadata(meta: dict[str, str], path: str = "") -> Model:
    """The inverse of to_metadata; BadModel names what is missing or malformed."""
    try:
        build, io, plan = (json.loads(meta[PREFIX + n]) for n in ("build", "io", "plan"))
        kernels = _kernels(plan["tasks"], path)
        inputs, outputs = (tuple(_tensor(t) for t in io[n]) for n in ("inputs", "outputs"))
        if not isinstance(build, dict):
            raise ValueError("build is no table")
        gears = tuple({n: tuple(d) for n, d in g.items()} for g in plan.get("gears", ()))
        return Model(
            meta[PREFIX + "soc"],
            build,
            inputs,
            outputs,
            kernels,
            plan.get("memory", {}),
            gears,
            bool(plan.get("dynamic")),
            tuple(_kernels(t, path) for t in plan.get("gear_tasks", ())),
            {n: tuple(int(d) for d in dims) for n, dims in plan.get("planned", {}).items()},
            tuple((int(a), int(b)) for a, b in plan.get("events", ())),
            tuple(read_aipp(a) for a in plan.get("aipp", ())),
            tuple((str(n), int(a), int(b), int(size)) for n, a, b, size in plan.get("lifetimes", ())),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:  # Infinity is JSON to Python
        raise BadModel(path, f"metadata entry missing or malformed: {error}") from error


def _work(
    form: str, op: str, dtype: str, dims: list[int], read_bytes: int, write_bytes: int, epilogue: int, schedule: list[int]
) -> Work:
    """ValueError or TypeError for a Work that the cost model would refuse: it must not come up while a model runs."""
    names = FORMS[form][0]
    if len(dims) != len(names) or dtype not in DTYPES:
        raise ValueError(f"work {form} {dtype} with {len(dims)} dims")
    figures = (*(int(d) for d in dims), int(read_bytes), int(write_bytes), int(epilogue))
    tuned = tuple(int(s) for s in schedule)
    if not fits(form, tuned) or max(tuned, default=0) > MOST_WORK:
        raise ValueError(f"work {form} with the schedule {tuned}")
    if min(figures) < 0 or (names[0] not in MAY_BE_ZERO and min(figures[: len(names)]) < 1) or max(figures) > MOST_WORK:
        raise ValueError(f"work {form} with figures {figures}")
    read, written, behind = figures[len(names) :]
    return Work(form, op, dtype, figures[: len(names)], read, written, behind, tuned)


def _tensor(entry: dict[str, Any]) -> Tensor:
    dims = tuple(int(d) for d in entry["dims"])
    made = Tensor(entry["name"], entry["dtype"], dims, entry["format"], int(entry.get("picture", 0)))
    if made.dtype not in DTYPES:
        raise ValueError(f"data type {made.dtype!r}")
    if made.picture < 0 or (made.picture and len(dims) != 4):
        raise ValueError(f"a picture of {made.picture} bytes in {len(dims)} dims")
    return made


def _varint(data: mmap.mmap | bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("varint too long")


def fields(data: mmap.mmap | bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(field number, start, end) of the length-delimited fields between two offsets; others are stepped over."""
    while at < end:
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 2:
            length, at = _varint(data, at)
            if at + length > end:
                raise ValueError(f"field {number} is longer than the file")
            yield number, at, at + length
            at += length
        elif wire == 0:
            _, at = _varint(data, at)
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire}")


def read_metadata(path: str | Path) -> dict[str, str]:
    """The metadata texts of a model file. BadModel when it is no ONNX protobuf or carries none of ours; OSError as usual."""
    file = Path(path)
    size = file.stat().st_size
    if size == 0 or size > MAX_BYTES:
        raise BadModel(str(path), "the file is empty" if size == 0 else f"{size} bytes are more than a model file can have")
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return _metadata_of(data, size, str(path))


def metadata_of(data: bytes, path: str = "memory") -> dict[str, str]:
    """read_metadata for a model that lies in memory."""
    return _metadata_of(data, len(data), path)


def _metadata_of(data: mmap.mmap | bytes, size: int, path: str) -> dict[str, str]:
    found: dict[str, str] = {}
    try:
        for number, start, end in fields(data, 0, size):
            if number != 14:  # ModelProto.metadata_props
                continue
            if end - start > MAX_PLAN:
                raise BadModel(path, "a metadata entry is larger than 16 MiB")
            entry = {n: data[a:b].decode("utf-8") for n, a, b in fields(data, start, end) if n in (1, 2)}
            found[entry.get(1, "")] = entry.get(2, "")
    except (ValueError, IndexError) as error:
        raise BadModel(path, f"not a model file ({error})") from error
    if PREFIX + "soc" not in found:
        raise BadModel(path, "not a model made by atc (it carries no target chip)")
    return found


def load(path: str | Path) -> Model:
    """The model of a file, without its arithmetic. BadModel or OSError."""
    return from_metadata(read_metadata(path), str(path))


def digest(path: str | Path) -> str:
    """SHA-256 of a file: the key of the arithmetic cache."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


# The seal is the last metadata entry of the file, "npu.sha256" with the digest of all bytes before it. Its length is fixed.
_SEAL_KEY = (PREFIX + "sha256").encode()
_SEAL_HEAD = b"\x72\x4e\x0a" + bytes([len(_SEAL_KEY)]) + _SEAL_KEY + b"\x12\x40"  # field 14, entry of 78 bytes, key, value of 64
_SEAL_LENGTH = len(_SEAL_HEAD) + 64


def seal(data: bytes) -> bytes:
    """The bytes of a finished model with its digest appended as one more metadata entry (still a valid protobuf)."""
    return data + seal_of(hashlib.sha256(data).hexdigest())


def seal_of(digest: str) -> bytes:
    """What seal() appends to a file of that SHA-256."""
    return _SEAL_HEAD + digest.encode()


def intact(data: bytes) -> bool:
    """False when a sealed model was changed after it was written. A file without a seal (plain ONNX) is intact."""
    if data[-_SEAL_LENGTH:-64] != _SEAL_HEAD:
        return _SEAL_HEAD not in data
    return data[-64:] == hashlib.sha256(memoryview(data)[:-_SEAL_LENGTH]).hexdigest().encode()
