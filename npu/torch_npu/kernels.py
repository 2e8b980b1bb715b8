"""One kernel for nearly every operator: inputs become CPU tensors over the same bytes, torch computes, results become npu
tensors.

Arithmetic is done at the call, bit by bit as torch does it on the CPU; when it happens on the device is the business of the task
that is queued for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from npu.runtime.process import Process
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread
from npu.torch_npu import launch, memory, place, waiting
from npu.torch_npu.flip import to_cpu, to_npu
from npu.torch_npu.operators import base, find
from npu.torch_npu.schema import shape_of

Kernel = Callable[..., Any]
CPU = torch.device("cpu")
MIXED = ("index", "index_put", "_index_put_impl", "_unsafe_index", "_unsafe_index_put")  # these take CPU index tensors, too
NUMBERS = ("add", "sub", "mul", "div", "floor_divide", "copy")  # torch takes numbers where these want tensors
HOST_NUMBERS = (int, float, complex, bool)
# Results whose size depends on values: the host waits for them.
SIZED_BY_DATA = ("nonzero", "masked_select", "_unique2", "unique_consecutive", "unique_dim", "repeat_interleave", "equal",
                 "bincount")  # fmt: skip
# Operators that have another form while they only evaluate: does this call train?
TRAINS: dict[str, Callable[[Sequence[Any]], bool]] = {"native_batch_norm": lambda args: bool(args[5])}
# Poolings: where the size of their window stands among the arguments.
WINDOW_AT = {"max_pool2d_with_indices": 1, "max_pool2d_with_indices_backward": 2, "avg_pool2d": 1, "avg_pool2d_backward": 2}
ALLOCATOR = "DefaultCPUAllocator: can't allocate memory"
DIFFERENT = "Expected all tensors to be on the same device, but found at least two devices, {} and {}!"


class Call:
    """One call on its way. reads: the npu tensors among its arguments, in order; device: logical, -1 while not known; scalar: a
    host number is among the operands; foreign: so is a CPU tensor that is none; lazy: tensors may be conjugated or negated;
    sole: the only device with tensors; apart: they lie on several."""

    __slots__ = ("apart", "device", "foreign", "lazy", "process", "reads", "scalar", "sole")

    def __init__(self, process: Process, lazy: bool) -> None:
        self.process, self.lazy = process, lazy
        self.sole = process.one(memory.Memory).sole
        self.apart = self.sole < 0
        self.reads: list[Tensor] = []
        self.device = -1
        self.scalar = self.foreign = False

    def flip(self, tensor: Any) -> Any:
        """A tensor argument as a CPU tensor; None and CPU tensors as they are."""
        if not isinstance(tensor, Tensor):  # None, or a number where a tensor may stand
            self.scalar |= tensor is not None
            return tensor
        if tensor.is_cpu:
            self.scalar = True
            self.foreign |= tensor.dim() > 0
            return tensor
        if self.apart:
            mine = memory.device_of(self.process, tensor)
            if self.device >= 0 and mine != self.device:
                raise RuntimeError(DIFFERENT.format(f"npu:{self.device}", f"npu:{mine}"))
            self.device = mine
        self.reads.append(tensor)
        return plain_cpu(tensor) if self.lazy else to_cpu(tensor)

    def settle(self, mixed: bool) -> None:
        """Judge the arguments: all on one device, numbers on the host allowed."""
        if self.reads:
            if self.foreign and not mixed:
                raise RuntimeError(DIFFERENT.format(f"npu:{memory.device_of(self.process, self.reads[0])}", "cpu"))
            if self.device < 0:
                self.device = self.sole
        elif self.device < 0:
            self.device = place.seats.mine.device


def plain_cpu(tensor: Tensor) -> Tensor:
    """An npu tensor for the CPU; what is to be conjugated or negated when it is read stays so."""
    made = to_cpu(tensor)
    if tensor.is_conj():
        made = made.conj()
    return torch._neg_view(made) if tensor.is_neg() else made


def device_index(device: Any) -> int:
    """The logical device an argument names; the current one where it has no number."""
    index = device if isinstance(device, int) else torch.device(device).index
    return place.seats.mine.device if index is None else int(index)


def _may_be_lazy(name: str) -> bool:
    """Whether torch lets an operator have conjugated or negated views; for all others it resolves them first."""
    return any(torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for key in ("Conjugate", "Negative"))


def generic(name: str, op: Any) -> Kernel:
    """The kernel of an operator. name: with namespace and overload. What its schema says is looked at once, here."""
    tensors, lists, named, fresh, written, writes = shape_of(op._schema)
    shown, _, overload = name.partition(".")
    plain = base(name)
    in_place = shown.endswith("_")
    usual = "scalar" if "Scalar" in overload else "dim" if overload.startswith("dim") else ""
    mixed, waits, trains, window = plain in MIXED, plain in SIZED_BY_DATA, TRAINS.get(plain), WINDOW_AT.get(plain)
    into = any(isinstance(w, str) for w in writes)
    positions, groups = sorted(tensors), sorted(lists)
    lazy, numbers = _may_be_lazy(name), plain in NUMBERS
    compute = op._op
    enter, stream, find_operator = place.enter, place.stream, find
    source = written[0] if written else None
    single = source is None and not writes and not into

    def kernel(*args: Any, **kwargs: Any) -> Any:
        process, thread = enter()
        try:
            begun = thread.clock.now
            call = Call(process, lazy)
            given = list(args)
            count = len(given)
            for at in positions:
                if at >= count:
                    break
                value = given[at]
                flipped = given[at] = call.flip(value)
                if flipped is value and not numbers and type(value) in HOST_NUMBERS:  # torch hands them over in place of tensors
                    given[at] = torch.tensor(value, dtype=torch.result_type(call.reads[0], value) if call.reads else None)
            for at in groups:
                if at < count and given[at] is not None:
                    given[at] = [call.flip(v) for v in given[at]]
            options = _named(call, kwargs, named, fresh) if kwargs else kwargs
            if options is None:
                return op(*given, **kwargs)
            call.settle(mixed)
            capture = launch.capture
            if capture is not None:
                for to in writes:
                    for target in _listed(given[to] if isinstance(to, int) else options[to]):
                        capture.writes(target)
            try:
                results = computed(op, given, options, args, kwargs) if into else compute(*given, **options)
            except RuntimeError as error:
                if ALLOCATOR not in str(error):
                    raise
                size = int(str(error).partition("tried to allocate ")[2].split(" ")[0])
                raise torch.OutOfMemoryError(memory.refused(process, thread, size, call.device)) from error
            if capture is not None:
                capture.did(compute, given, options, results)
            where = stream(process, thread, call.device)
            if single and isinstance(results, Tensor):
                made: Any = to_npu(results)
                memory.hold(process, thread, made, call.device, where.ordinal)
                outs: list[Tensor] = [made]
            else:
                outs = []
                if isinstance(results, tuple):
                    made = tuple(_result(call, r, written[n], args, kwargs, outs, where, thread) for n, r in enumerate(results))
                else:
                    made = _result(call, results, source, args, kwargs, outs, where, thread)
                if not outs and writes:
                    outs = _listed(args[writes[0]] if isinstance(writes[0], int) else kwargs[writes[0]])
            variant = "scalar" if call.scalar else usual
            if trains is not None and not trains(args):
                variant = "eval"
            operator = find_operator(name, variant)
            if window is not None:
                sides = args[window]
                operator = operator._replace(window=sides[0] * sides[-1])
            launch.launch(process, thread, where, operator, shown, in_place, call.reads, outs, begun)
            if waits:
                waiting.for_result(process, thread, where, shown, begun)
            return made
        finally:
            thread.clock.leave()

    kernel.__name__ = plain
    return kernel


def _named(call: Call, kwargs: dict[str, Any], named: Sequence[str], fresh: bool) -> dict[str, Any] | None:
    """Keyword arguments for the CPU; None for a factory whose tensor shall be on another device than the NPU."""
    options = dict(kwargs)
    for key in named:
        value = kwargs.get(key)
        if value is not None:
            options[key] = [call.flip(v) for v in value] if isinstance(value, list) else call.flip(value)
    if fresh and kwargs.get("device") is not None:
        if kwargs["device"].type != "npu":
            return None
        wanted = kwargs["device"].index or -1  # 0 is what torch says where it means the same or the current device
        call.device = wanted if wanted > 0 else call.device
        options["device"] = CPU
        options.pop("pin_memory", None)
    return options


def _listed(value: Any) -> list[Tensor]:
    return list(value) if isinstance(value, list | tuple) else [value]


def computed(op: Any, given: list[Any], options: dict[str, Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The result of a call with out=. A buffer of another size is exchanged for one that fits, as torch resizes it; the bytes
    of an
    npu tensor cannot grow where they are."""
    names = [k for k, v in kwargs.items() if isinstance(v, Tensor) and not v.is_cpu]
    fresh = {k: torch.empty(0, dtype=options[k].dtype) for k in names}
    try:
        before = {k: (options[k].shape, options[k].data_ptr()) for k in names}
        results = op(*given, **options)
        changed = [k for k in names if (options[k].shape, options[k].data_ptr()) != before[k]]
        for key in changed:
            kwargs[key].set_(to_npu(options[key]))
    except RuntimeError as error:
        if "resize storage that is not resizable" not in str(error):
            raise
        results = op(*given, **{**options, **fresh})
        for key in names:
            kwargs[key].set_(to_npu(fresh[key]))
    return results


def _result(
    call: Call,
    result: Any,
    source: int | str | None,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    outs: list[Tensor],
    where: Stream,
    thread: HostThread,
) -> Any:
    """A result as the script gets it: the argument it was written to, or an npu tensor with memory of its own."""
    if source is not None:
        given = args[source] if isinstance(source, int) else kwargs[source]
        outs.extend(_listed(given))
        return given
    if isinstance(result, Tensor):
        made = to_npu(result)
        memory.hold(call.process, thread, made, call.device, where.ordinal)
        outs.append(made)
        return made
    if isinstance(result, list):
        return [_result(call, r, None, args, kwargs, outs, where, thread) for r in result]
    return result
