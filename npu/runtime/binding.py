"""A model's inputs and outputs bound to data sets: checked once, and again only when something has changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from npu import om
from npu.device.task import Row
from npu.driver.door import Handle
from npu.errors import NpuError
from npu.runtime.dataset import GEAR_INPUT, DataBuffer, DataSet, inputs_of
from npu.runtime.gears import chosen, input_dims, size, unsized
from npu.runtime.process import Process
from npu.runtime.side import Side
from npu.runtime.tensor_desc import TensorDesc

TOLERANCE = 64  # a buffer may fall short of the model's size by so many bytes


class Bound:
    """A buffer of a data set as a kernel sees it: where, how large, and the tensor's dims in this run. size: 0 when open."""

    __slots__ = ("buffer", "dims", "side", "size")

    def __init__(self, side: Side | None, buffer: DataBuffer, dims: tuple[int, ...], size: int) -> None:
        self.side, self.buffer, self.dims, self.size = side, buffer, dims, size


class Binding:
    """Inputs and outputs of one run. It holds for further runs while data sets, buffers and live memory stay as they were."""

    def __init__(
        self,
        sets: tuple[tuple[int, DataSet], tuple[int, DataSet]],
        ins: list[Bound],
        outs: list[Bound],
        dev: Handle,
        gear: int,
        fixed: bool,
    ) -> None:
        self.ins, self.outs, self.dev = ins, outs, dev
        self.input_set, self.output_set = sets[0][1], sets[1][1]
        self.gear = gear
        self.changes = dev.changes if fixed else -1  # -1: open shapes and memory of other devices are looked at every time
        self._edits = -1  # of the process, when data sets and buffers were looked at last
        self._sets = sets
        self._buffers = [
            (handle, bound.buffer, bound.buffer.data, bound.buffer.size)
            for (_, dataset), side in zip(sets, (ins, outs), strict=True)
            for handle, bound in zip(dataset.buffers, side, strict=True)
        ]
        self._row: Row | None = None

    def holds(self, process: Process) -> bool:
        """Whether a new check would find the same."""
        if self.changes != self.dev.changes:
            return False
        if self._edits != process.edits:
            if not self._same(process):
                return False
            self._edits = process.edits
        return True

    def _same(self, process: Process) -> bool:
        """Whether data sets and buffers are as they were."""
        objects = process.objects
        for handle, dataset in self._sets:
            if objects.get(handle) is not dataset:
                return False
        (_, first), (_, second) = self._sets
        if len(first.buffers) != len(self.ins) or len(second.buffers) != len(self.outs):
            return False
        for handle, buffer, data, count in self._buffers:
            if buffer.data != data or buffer.size != count or objects.get(handle) is not buffer:
                return False
        return True

    def row(self, text: Callable[[str], int], model: int) -> Row:
        """What is recorded of a run."""
        if self._row is None:
            self._row = Row(model=model, reads=text(_ranges(self.ins)), writes=text(_ranges(self.outs)))
        return self._row


def _ranges(bound: Sequence[Bound]) -> str:
    return ";".join(b.side.range(b.size or b.buffer.size) for b in bound if b.side is not None)


def bind(process: Process, model: om.Model, inputs: int, outputs: int, dev: Handle) -> Binding:
    """Check data sets (handles) against a model. NpuError model_input_mismatch, invalid_param, those of a bad address."""
    sets = tuple((h, process.get(h, DataSet, "invalid_param")) for h in (inputs, outputs))
    gear = chosen(process, sets[0][1], model)
    ins = _side(process, model, sets[0][1], inputs_of(model), "input", gear)
    outs = _side(process, model, sets[1][1], model.outputs, "output")
    plain = not sets[0][1].descs and not model.gears and all(b.size for b in outs)
    fixed = plain and all(b.side is not None and b.side.dev is dev for b in (*ins, *outs))
    return Binding((sets[0], sets[1]), ins, outs, dev, gear, fixed)


def _missing(model: om.Model) -> str:
    """What a script left out that gives a model of open shape its dims."""
    if model.gears:
        return "no choice (acl.mdl.set_dynamic_batch_size, set_dynamic_hw_size, set_input_dynamic_dims)"
    return "no description (acl.mdl.set_dataset_tensor_desc)"


def _side(
    process: Process, model: om.Model, dataset: DataSet, wanted: Sequence[om.Tensor], what: str, gear: int = -1
) -> list[Bound]:
    if len(dataset.buffers) != len(wanted):
        raise NpuError(
            "model_input_mismatch", which=what, wanted=len(wanted), given=len(dataset.buffers), reason="number of buffers"
        )
    made = []
    later = unsized(model) if what == "input" else {}  # these say their size when they are read
    for number, tensor in enumerate(wanted):
        buffer = process.get(dataset.buffers[number], DataBuffer, "invalid_param")
        dims = tensor.dims
        if what == "input" and (dataset.descs or gear >= 0):
            described = process.objects.get(dataset.descs.get(number, 0))
            dims = tuple(described.dims) if isinstance(described, TensorDesc) else input_dims(model, gear, tensor)
        dims = tensor.laid(dims)
        need = size(dims, tensor.dtype)
        if tensor.name in later:
            need = later[tensor.name]
        elif buffer.size + TOLERANCE < need:
            raise NpuError(
                "model_input_mismatch",
                which=what,
                index=number,
                name=tensor.name,
                wanted=need,
                given=buffer.size,
                reason="size of a buffer",
            )
        if what == "input" and min(dims, default=0) < 0 and tensor.name != GEAR_INPUT:
            raise NpuError(
                "model_input_mismatch",
                which=what,
                name=tensor.name,
                wanted=tensor.dims,
                given=_missing(model) if dims == tensor.dims else dims,
                reason=f"open shape of {tensor.name}",
            )
        # An output of open shape gets its memory when that is known; an empty tensor needs none.
        none = buffer.data == 0 and need == 0 and (what == "output" or 0 in dims)
        side = None if none else Side(process, buffer.data, min(buffer.size, need) if need else buffer.size, True, kernel=True)
        made.append(Bound(side, buffer, dims, need))
    return made
