"""Matrix products on row-major device buffers: C = alpha * op(A) op(B) + beta * C, and the same with a vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from npu import om
from npu.cost import Work
from npu.device.task import KERNEL, PLAIN, Row, Task
from npu.dtypes import DTYPES
from npu.errors import NpuError
from npu.runtime.dataset import DataBuffer
from npu.runtime.kernel_step import step_of
from npu.runtime.process import Process
from npu.runtime.side import Side
from npu.runtime.stream import Stream
from npu.runtime.tensor_desc import NAMES
from npu.runtime.thread import HostThread

PLAIN_ORDER, TRANSPOSED = 0, 1  # aclTransType; the other two are block layouts
DENSE = -1  # the only leading dimension and increment the library takes
HALF, INT8, INT32 = 1, 2, 3  # aclDataType
TYPES = {"float32", "float16", "int8", "int32"}


@dataclass(frozen=True)
class Product:
    """op(A) is m x k and op(B) k x n; turned: whether A and B lie transposed. Types by name; C's is that of alpha and beta."""

    m: int
    n: int
    k: int
    turned: tuple[bool, bool]
    types: tuple[str, str, str]

    def bytes(self) -> tuple[int, int, int]:
        """Of A, B and C."""
        counts = (self.m * self.k, self.k * self.n, self.m * self.n)
        a, b, c = (int(n * DTYPES[t][1]) for n, t in zip(counts, self.types, strict=True))
        return a, b, c


def product(
    transposed: tuple[int, int, int], sizes: tuple[int, int, int], dtypes: tuple[int, int, int], steps: Sequence[int] = (DENSE,)
) -> Product:
    """A checked product. NpuError invalid_param for sizes, types, layouts and leading dimensions that cannot be."""
    if any(t not in (PLAIN_ORDER, TRANSPOSED) for t in transposed) or transposed[2] != PLAIN_ORDER:
        raise NpuError("invalid_param", transposed=transposed, reason="block layouts, or a transposed result")
    if min(sizes) < 1 or any(s != DENSE for s in steps):
        raise NpuError("invalid_param", sizes=sizes, leading_dimensions=list(steps), reason="leading dimensions must be -1")
    names = tuple(NAMES.get(d, "") for d in dtypes)
    if not set(names) <= TYPES or names[0] != names[1]:
        raise NpuError("invalid_param", types=dtypes)
    m, n, k = sizes
    return Product(m, n, k, (transposed[0] == TRANSPOSED, transposed[1] == TRANSPOSED), (names[0], names[1], names[2]))


def run(
    process: Process, thread: HostThread, made: Product, alpha: int, a: int, b: int, beta: int, c: int, stream: Stream
) -> None:
    """Queue a product. Scalars may lie on either side. NpuError for what is wrong with the addresses."""
    sizes = made.bytes()
    scalar = int(DTYPES[made.types[2]][1])
    left, right, result = (Side(process, p, n, True) for p, n in zip((a, b, c), sizes, strict=True))
    factors = [Side(process, p, scalar, _is_device(p)) for p in (alpha, beta)]
    work = Work("matmul", "GEMM", made.types[0], (1, made.m, made.n, made.k), sizes[0] + sizes[1] + sizes[2], sizes[2])
    if made.types[0] == "int32":
        work = Work("aicpu", "GEMM", "int32", (made.m * made.n, 1), sizes[0] + sizes[1] + sizes[2], sizes[2])
    shapes = f"{made.m},{made.k};{made.k},{made.n};{made.m},{made.n}"
    labels = [DTYPES[t][2] for t in made.types]
    kernel = om.Kernel("GEMM", "GEMM", work, shapes, ";".join(labels), "ND;ND;ND", f"{made.m},{made.n}", labels[2], "ND")
    recording = process.recording
    thread.correlation = recording.correlation()
    row = PLAIN
    if recording.on:
        reads = ";".join(s.range(n) for s, n in zip((left, right, result), sizes, strict=True))
        row = Row(reads=recording.text(reads), writes=recording.text(result.range(sizes[2])))

    def done(_time: int) -> None:
        result.touched()
        if process.knobs.compute:
            result.write(_compute(made, left, right, result, factors))

    task = Task(KERNEL, 0, row, on_done=done, program=[step_of(process, kernel, "", "static")])
    task.correlation = thread.correlation
    stream.submit(process, thread, task)


def _is_device(pointer: int) -> bool:
    from npu.runtime.side import on_device

    if pointer == 0:
        raise NpuError("invalid_param", pointer=0, reason="alpha and beta are pointers")
    return on_device(pointer)


def _compute(made: Product, left: Side, right: Side, result: Side, factors: Sequence[Side]) -> bytes:
    import numpy as np

    wide = np.int32 if made.types[0] in ("int8", "int32") and made.types[2] in ("int8", "int32") else np.float32
    sizes = made.bytes()
    shapes = ((made.m, made.k), (made.k, made.n))
    matrices: list[Any] = []
    for side, count, dtype, shape, turned in zip((left, right), sizes[:2], made.types[:2], shapes, made.turned, strict=True):
        found = np.frombuffer(side.read(count), dtype).astype(wide)
        matrices.append(found.reshape(shape[::-1]).T if turned else found.reshape(shape))
    alpha, beta = (np.frombuffer(f.read(int(DTYPES[made.types[2]][1])), made.types[2]).astype(wide)[0] for f in factors)
    made_of = alpha * (matrices[0] @ matrices[1])
    if beta:
        made_of = made_of + beta * np.frombuffer(result.read(sizes[2]), made.types[2]).astype(wide).reshape(made.m, made.n)
    return bytes(np.ascontiguousarray(made_of.astype(made.types[2])).tobytes())


def run_with_buffers(
    process: Process, thread: HostThread, made: Product, inputs: Sequence[int], outputs: Sequence[int], stream: Stream
) -> None:
    """Queue a product whose inputs are the data buffers A, B, C, alpha, beta and whose output is C. NpuError op_input."""
    if len(inputs) != 5 or len(outputs) != 1:
        raise NpuError("op_input", op="GEMM", wanted=5, given=len(inputs))
    a, b, c, alpha, beta = (process.get(h, DataBuffer, "invalid_param").data for h in inputs)
    out = process.get(outputs[0], DataBuffer, "invalid_param").data
    if out != c:
        raise NpuError("op_input", op="GEMM", reason="input C and the output must be the same memory")
    run(process, thread, made, alpha, a, b, beta, c, stream)
