"""Along an axis: softmax, normalisations, reductions, pooling."""

from __future__ import annotations

from functools import partial
from typing import Any

from npu.torch_npu.graph.aten.call import Call, Rule, tensor
from npu.torch_npu.graph.builder import Builder


def softmax(op: str, builder: Builder, call: Call) -> bool:
    if call["half_to_float"]:
        return False
    builder.add(op, [builder.read(call["self"])], [builder.out(call.node)], axis=call["dim"])
    return True


def reduction(op: str, builder: Builder, call: Call) -> bool:
    """Over the given axes, or all of them. A change of type on the way is the framework's own kernel."""
    source, seen = tensor(builder, call["self"]), builder.seen(call.node)
    if source is None or source.dtype != seen.dtype:
        return False
    axes: Any = call.given.get("dim")
    rank = len(source.dims)
    wanted = [d % max(rank, 1) for d in axes] if axes else list(range(rank))
    reads = [builder.read(call["self"]), builder.constant(wanted, "int64")]
    builder.add(op, reads, [builder.out(call.node)], keepdims=int(call.given.get("keepdim", False)))
    return True


def layer_norm(builder: Builder, call: Call) -> bool:
    if call["weight"] is None:
        return False
    reads = [builder.read(call["input"]), builder.read(call["weight"])]
    reads += [] if call["bias"] is None else [builder.read(call["bias"])]
    used = {0} | {int(user.args[1]) for user in call.node.users}  # type: ignore[arg-type]
    outs = [builder.out(call.node, at) if at in used else "" for at in range(max(used) + 1)]
    builder.add("LayerNormalization", reads, outs, axis=-len(call["normalized_shape"]), epsilon=float(call["eps"]))
    return True


def batch_norm(builder: Builder, call: Call) -> bool:
    """With fixed statistics; a training one is the framework's own kernels."""
    if call.given.get("training") or not call.only_first() or call["weight"] is None or call["bias"] is None:
        return False
    reads = [builder.read(call[n]) for n in ("input", "weight", "bias", "running_mean", "running_var")]
    builder.add("BatchNormalization", reads, [builder.out(call.node, 0)], epsilon=float(call["eps"]))
    return True


def max_pool(builder: Builder, call: Call) -> bool:
    """Without its indices: the backward pass needs them, and gets them from the framework's own kernel."""
    if not call.only_first():
        return False
    return _pooled("MaxPool", builder, call, builder.out(call.node, 0), dilations=_pair(call["dilation"]))


def average_pool(builder: Builder, call: Call) -> bool:
    if call["divisor_override"] is not None:
        return False
    return _pooled("AveragePool", builder, call, builder.out(call.node), count_include_pad=int(call["count_include_pad"]))


def _pair(values: Any) -> list[int]:
    return [int(v) for v in values] * (2 if len(values) == 1 else 1)


def _pooled(op: str, builder: Builder, call: Call, out: str, **more: Any) -> bool:
    kernel = _pair(call["kernel_size"])
    builder.add(
        op, [builder.read(call["self"])], [out], kernel_shape=kernel, strides=_pair(call["stride"]) if call["stride"] else kernel,
        pads=_pair(call["padding"]) * 2, ceil_mode=int(call["ceil_mode"]), **more,
    )  # fmt: skip
    return True


def adaptive_pool(builder: Builder, call: Call) -> bool:
    """To one point a channel: the global average."""
    seen = builder.seen(call.node)
    if len(seen.dims) != 4 or seen.dims[2:] != (1, 1):
        return False
    builder.add("GlobalAveragePool", [builder.read(call["self"])], [builder.out(call.node)])
    return True


RULES: dict[str, Rule] = {
    "_softmax": partial(softmax, "Softmax"),
    "_log_softmax": partial(softmax, "LogSoftmax"),
    "mean": partial(reduction, "ReduceMean"),
    "sum": partial(reduction, "ReduceSum"),
    "amax": partial(reduction, "ReduceMax"),
    "amin": partial(reduction, "ReduceMin"),
    "native_layer_norm": layer_norm,
    "native_batch_norm": batch_norm,
    "_native_batch_norm_legit_no_training": batch_norm,
    "max_pool2d_with_indices": max_pool,
    "avg_pool2d": average_pool,
    "_adaptive_avg_pool2d": adaptive_pool,
}
