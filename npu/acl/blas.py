"""acl.blas: matrix products."""

from __future__ import annotations

from npu.runtime import stream
from npu.runtime.blas import HALF, INT8, INT32, product, run
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

GROUP = "blas"
__all__ = [
    "create_handle_for_gemm_ex",
    "create_handle_for_gemv_ex",
    "create_handle_for_hgemm",
    "create_handle_for_hgemv",
    "create_handle_for_s8gemm",
    "create_handle_for_s8gemv",
    "gemm_ex",
    "gemv_ex",
    "hgemm",
    "hgemv",
    "s8gemm",
    "s8gemv",
]

HALVES, BYTES = (HALF, HALF, HALF), (INT8, INT8, INT32)


def gemm_ex(
    process: Process, thread: HostThread, ta: int, tb: int, tc: int, m: int, n: int, k: int, alpha: int, a: int, lda: int,
    dtype_a: int, b: int, ldb: int, dtype_b: int, beta: int, c: int, ldc: int, dtype_c: int, compute: int, on: int,
) -> None:  # fmt: skip
    made = product((ta, tb, tc), (m, n, k), (dtype_a, dtype_b, dtype_c), (lda, ldb, ldc))
    run(process, thread, made, alpha, a, b, beta, c, stream.of(process, thread, on))


def _gemm(process: Process, thread: HostThread, types: tuple[int, int, int], given: tuple[int, ...]) -> None:
    ta, tb, tc, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, _compute, on = given
    made = product((ta, tb, tc), (m, n, k), types, (lda, ldb, ldc))
    run(process, thread, made, alpha, a, b, beta, c, stream.of(process, thread, on))


def hgemm(process: Process, thread: HostThread, *given: int) -> None:
    _gemm(process, thread, HALVES, given)


def s8gemm(process: Process, thread: HostThread, *given: int) -> None:
    _gemm(process, thread, BYTES, given)


def gemv_ex(
    process: Process, thread: HostThread, ta: int, m: int, n: int, alpha: int, a: int, lda: int, dtype_a: int, x: int, incx: int,
    dtype_x: int, beta: int, y: int, incy: int, dtype_y: int, compute: int, on: int,
) -> None:  # fmt: skip
    rows, inner = (n, m) if ta else (m, n)
    made = product((ta, 0, 0), (rows, 1, inner), (dtype_a, dtype_x, dtype_y), (lda, incx, incy))
    run(process, thread, made, alpha, a, x, beta, y, stream.of(process, thread, on))


def _gemv(process: Process, thread: HostThread, types: tuple[int, int, int], given: tuple[int, ...]) -> None:
    ta, m, n, alpha, a, lda, x, incx, beta, y, incy, compute, on = given
    gemv_ex(process, thread, ta, m, n, alpha, a, lda, types[0], x, incx, types[1], beta, y, incy, types[2], compute, on)


def hgemv(process: Process, thread: HostThread, *given: int) -> None:
    _gemv(process, thread, HALVES, given)


def s8gemv(process: Process, thread: HostThread, *given: int) -> None:
    _gemv(process, thread, BYTES, given)


def create_handle_for_gemm_ex(
    process: Process, thread: HostThread, ta: int, tb: int, tc: int, m: int, n: int, k: int, dtype_a: int, dtype_b: int,
    dtype_c: int, compute: int,
) -> int:  # fmt: skip
    return process.register(product((ta, tb, tc), (m, n, k), (dtype_a, dtype_b, dtype_c)))


def create_handle_for_hgemm(process: Process, thread: HostThread, *given: int) -> int:
    ta, tb, tc, m, n, k, _compute = given
    return process.register(product((ta, tb, tc), (m, n, k), HALVES))


def create_handle_for_s8gemm(process: Process, thread: HostThread, *given: int) -> int:
    ta, tb, tc, m, n, k, _compute = given
    return process.register(product((ta, tb, tc), (m, n, k), BYTES))


def create_handle_for_gemv_ex(
    process: Process, thread: HostThread, ta: int, m: int, n: int, dtype_a: int, dtype_x: int, dtype_y: int, compute: int
) -> int:
    rows, inner = (n, m) if ta else (m, n)
    return process.register(product((ta, 0, 0), (rows, 1, inner), (dtype_a, dtype_x, dtype_y)))


def create_handle_for_hgemv(process: Process, thread: HostThread, ta: int, m: int, n: int, compute: int) -> int:
    return create_handle_for_gemv_ex(process, thread, ta, m, n, *HALVES, compute)


def create_handle_for_s8gemv(process: Process, thread: HostThread, ta: int, m: int, n: int, compute: int) -> int:
    return create_handle_for_gemv_ex(process, thread, ta, m, n, *BYTES, compute)
