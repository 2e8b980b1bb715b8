"""What an operator computes: the functions of the DSL, by their public names. Both operands of a binary one have one shape and
type; broadcast() first where they have not, as the real DSL demands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from npu.tbe.limits import TbeError
from npu.tbe.tensor import TYPES, Operation, Tensor, made

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

# DSL function -> (name in numpy, instruction)
BINARY = {
    "vadd": ("add", "vector_add"), "vsub": ("subtract", "vector_sub"), "vmul": ("multiply", "vector_mul"),
    "vdiv": ("divide", "vector_div"), "vmax": ("maximum", "vector_max"), "vmin": ("minimum", "vector_min"),
}  # fmt: skip
UNARY = {
    "vexp": ("exp", "vector_exp"), "vabs": ("abs", "vector_abs"), "vlog": ("log", "vector_ln"), "vsqrt": ("sqrt", "vector_sqrt"),
    "vrec": ("reciprocal", "vector_rec"),
}  # fmt: skip
SCALAR = {"vadds": ("add", "vector_adds"), "vmuls": ("multiply", "vector_muls"), "vmaxs": ("maximum", "vector_maxs"),
          "vmins": ("minimum", "vector_mins")}  # fmt: skip
REDUCE = {
    "reduce_sum": ("sum", "vector_reduce_sum"), "reduce_max": ("max", "vector_reduce_max"),
    "reduce_min": ("min", "vector_reduce_min"),
}  # fmt: skip


def _numpy(name: str) -> Callable[..., Array]:
    def call(*arguments: Any, **named: Any) -> Array:
        import numpy as np

        made: Array = getattr(np, name)(*arguments, **named)
        return made

    return call


def _binary(name: str, lhs: Tensor, rhs: Tensor) -> Tensor:
    function, instruction = BINARY[name]
    if (lhs.shape, lhs.dtype) != (rhs.shape, rhs.dtype):
        raise TbeError(
            f"{name}: {lhs.name} is {lhs.dtype} {lhs.shape}, {rhs.name} is {rhs.dtype} {rhs.shape}",
            "broadcast or cast_to one of them first",
        )
    return made(Operation("elementwise", name, instruction, (lhs, rhs), _numpy(function)), lhs.shape, lhs.dtype)


def _unary(name: str, tensor: Tensor) -> Tensor:
    function, instruction = UNARY[name]
    return made(Operation("elementwise", name, instruction, (tensor,), _numpy(function)), tensor.shape, tensor.dtype)


def _scalar(name: str, tensor: Tensor, scalar: float) -> Tensor:
    function, instruction = SCALAR[name]
    call = _numpy(function)

    def compute(x: Array) -> Array:
        return call(x, x.dtype.type(scalar))

    return made(Operation("elementwise", name, instruction, (tensor,), compute, {"scalar": scalar}), tensor.shape, tensor.dtype)


def _reduce(name: str, tensor: Tensor, axis: int | Sequence[int], keepdims: bool) -> Tensor:
    function, instruction = REDUCE[name]
    given = [axis] if isinstance(axis, int) else list(axis)
    rank = len(tensor.shape)
    if any(not -rank <= a < rank for a in given):
        raise TbeError(f"{name} of {tensor.name} {tensor.shape} along {axis}", f"axes are {-rank} to {rank - 1}")
    axes = tuple(sorted({a % rank for a in given}))
    shape = [1 if i in axes else d for i, d in enumerate(tensor.shape) if keepdims or i not in axes] or [1]
    call = _numpy(function)

    def compute(x: Array) -> Array:
        return call(x, axis=axes, keepdims=keepdims).reshape(shape)

    return made(Operation("reduce", name, instruction, (tensor,), compute, {"axis": axes}), shape, tensor.dtype)


def vadd(lhs: Tensor, rhs: Tensor) -> Tensor:
    """lhs + rhs, elementwise. Both of one shape and type, which the result has too. TbeError otherwise."""
    return _binary("vadd", lhs, rhs)


def vsub(lhs: Tensor, rhs: Tensor) -> Tensor:
    """lhs - rhs, elementwise. Both of one shape and type, which the result has too. TbeError otherwise."""
    return _binary("vsub", lhs, rhs)


def vmul(lhs: Tensor, rhs: Tensor) -> Tensor:
    """lhs * rhs, elementwise. Both of one shape and type, which the result has too. TbeError otherwise."""
    return _binary("vmul", lhs, rhs)


def vdiv(lhs: Tensor, rhs: Tensor) -> Tensor:
    """lhs / rhs, elementwise. Both of one shape and type, which the result has too. TbeError otherwise."""
    return _binary("vdiv", lhs, rhs)


def vmax(lhs: Tensor, rhs: Tensor) -> Tensor:
    """The larger of each pair. Both of one shape and type, which the result has too. TbeError otherwise."""
    return _binary("vmax", lhs, rhs)


def vmin(lhs: Tensor, rhs: Tensor) -> Tensor:
    """The smaller of each pair. Both of one shape and type, which the result has too. TbeError otherwise."""
    return _binary("vmin", lhs, rhs)


def vexp(tensor: Tensor) -> Tensor:
    """e to the power of each element."""
    return _unary("vexp", tensor)


def vabs(tensor: Tensor) -> Tensor:
    """|x| of each element."""
    return _unary("vabs", tensor)


def vlog(tensor: Tensor) -> Tensor:
    """Natural logarithm of each element."""
    return _unary("vlog", tensor)


def vsqrt(tensor: Tensor) -> Tensor:
    """Square root of each element."""
    return _unary("vsqrt", tensor)


def vrec(tensor: Tensor) -> Tensor:
    """1 / x of each element."""
    return _unary("vrec", tensor)


def vadds(tensor: Tensor, scalar: float) -> Tensor:
    """Each element plus a number, which is rounded to the tensor's type first."""
    return _scalar("vadds", tensor, scalar)


def vmuls(tensor: Tensor, scalar: float) -> Tensor:
    """Each element times a number, which is rounded to the tensor's type first."""
    return _scalar("vmuls", tensor, scalar)


def vmaxs(tensor: Tensor, scalar: float) -> Tensor:
    """The larger of each element and a number."""
    return _scalar("vmaxs", tensor, scalar)


def vmins(tensor: Tensor, scalar: float) -> Tensor:
    """The smaller of each element and a number."""
    return _scalar("vmins", tensor, scalar)


def vrelu(tensor: Tensor) -> Tensor:
    """max(x, 0)."""
    call = _numpy("maximum")
    operation = Operation("elementwise", "vrelu", "vector_relu", (tensor,), lambda x: call(x, x.dtype.type(0)))
    return made(operation, tensor.shape, tensor.dtype)


def reduce_sum(tensor: Tensor, axis: int | Sequence[int], keepdims: bool = False) -> Tensor:
    """The sum along one or several axes, which go, or stay with size 1 (keepdims). TbeError for an axis that is not there."""
    return _reduce("reduce_sum", tensor, axis, keepdims)


def reduce_max(tensor: Tensor, axis: int | Sequence[int], keepdims: bool = False) -> Tensor:
    """The largest along one or several axes; axes and errors as of reduce_sum."""
    return _reduce("reduce_max", tensor, axis, keepdims)


def reduce_min(tensor: Tensor, axis: int | Sequence[int], keepdims: bool = False) -> Tensor:
    """The smallest along one or several axes; axes and errors as of reduce_sum."""
    return _reduce("reduce_min", tensor, axis, keepdims)


def cast_to(tensor: Tensor, dtype: str) -> Tensor:
    """The same values in another type."""
    if dtype not in TYPES:
        raise TbeError(f"cast_to {dtype!r}", f"types are {', '.join(TYPES)}")
    return made(Operation("cast", "cast_to", "vector_conv", (tensor,), lambda x: x.astype(dtype)), tensor.shape, dtype)


def broadcast(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """The tensor repeated along its dimensions of size 1 until it has the shape."""
    target = tuple(shape)
    padded = (1,) * (len(target) - len(tensor.shape)) + tensor.shape
    if len(padded) != len(target) or any(a not in (1, b) for a, b in zip(padded, target, strict=True)):
        raise TbeError(f"{tensor.name} {tensor.shape} cannot be broadcast to {target}", "only dimensions of size 1 are repeated")
    call = _numpy("broadcast_to")
    operation = Operation("broadcast", "broadcast", "vector_broadcast", (tensor,), lambda x: call(x, target), {"shape": target})
    return made(operation, target, tensor.dtype)


def transpose(tensor: Tensor, axes: Sequence[int]) -> Tensor:
    """Dimensions in another order."""
    if sorted(axes) != list(range(len(tensor.shape))):
        raise TbeError(f"transpose of {tensor.shape} by {tuple(axes)}", "name every axis once")
    operation = Operation(
        "transpose", "transpose", "vector_transpose", (tensor,), lambda x: x.transpose(axes), {"axes": tuple(axes)}
    )
    return made(operation, [tensor.shape[a] for a in axes], tensor.dtype)


def matmul(a: Tensor, b: Tensor, trans_a: bool = False, trans_b: bool = False) -> Tensor:
    """Product of two matrices on the cube unit: float16 or float32 operands, summed in float32, rounded to their type at the end.

    TbeError for shapes or types that do not fit.
    """
    left, right = (t.shape[::-1] if flag else t.shape for t, flag in ((a, trans_a), (b, trans_b)))
    if len(left) != 2 or len(right) != 2 or left[1] != right[0] or a.dtype != b.dtype:
        raise TbeError(f"matmul of {a.dtype} {left} and {b.dtype} {right}", "give two matrices of one type that fit")
    if a.dtype not in ("float16", "float32"):
        raise TbeError(f"matmul of {a.dtype}", "the cube takes float16 and float32 here")

    def compute(x: Array, y: Array) -> Array:
        x, y = (v.T if flag else v for v, flag in ((x, trans_a), (y, trans_b)))
        made: Array = x.astype("float32") @ y.astype("float32")
        return made

    operation = Operation("matmul", "matmul", "mmad", (a, b), compute, {"k": left[1], "trans_a": trans_a, "trans_b": trans_b})
    return made(operation, (left[0], right[1]), a.dtype)
