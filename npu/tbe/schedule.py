"""How a tensor is computed: loops over its axes, what is kept where, which loop a unit's instruction replaces.

Axes start as the dimensions of the widest tensor of the computation, the one all others are computed along. split, fuse and
reorder change them; bind deals an axis out to the cores; what is computed at an axis is one tile, all axes behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, prod

from npu.tbe.limits import SCOPES, TbeError
from npu.tbe.tensor import Tensor, order

BLOCK_AXIS = "blockIdx.x"


@dataclass(frozen=True, eq=False)
class Axis:
    """A loop. dims: which dimensions it walks over (several when fused)."""

    name: str
    extent: int
    dims: tuple[int, ...]


@dataclass(eq=False)
class Stage:
    """One tensor's place in the schedule."""

    tensor: Tensor
    axes: list[Axis] = field(default_factory=list)
    scope: str = "global"
    doubled: bool = False
    inlined: bool = False
    instruction: str = ""
    attached: tuple[Stage, Axis] | None = None
    bound: Axis | None = None

    def _at(self, axis: Axis) -> int:
        try:
            return self.axes.index(axis)
        except ValueError:
            known = ", ".join(a.name for a in self.axes) or "none"
            raise TbeError(f"{axis.name} is no axis of {self.tensor.name}", f"its axes are {known}") from None

    def split(self, axis: Axis, factor: int = 0, nparts: int = 0) -> tuple[Axis, Axis]:
        """(outer, inner): the inner one has `factor` steps, or the outer one `nparts`. The last part may be short."""
        if (factor > 0) == (nparts > 0):
            raise TbeError(f"split of {axis.name} with factor {factor} and nparts {nparts}", "give one of them, 1 or more")
        at = self._at(axis)
        inside = min(axis.extent, factor or ceil(axis.extent / nparts))
        parts = Axis(f"{axis.name}.outer", ceil(axis.extent / inside), axis.dims), Axis(f"{axis.name}.inner", inside, axis.dims)
        self.axes[at : at + 1] = parts
        return parts

    def fuse(self, *axes: Axis) -> Axis:
        """One axis over several neighbouring ones."""
        at = self._at(axes[0])
        if self.axes[at : at + len(axes)] != list(axes):
            raise TbeError("fuse needs neighbouring axes in their order", "reorder them first")
        made = Axis(
            ".".join(a.name for a in axes) + ".fused", prod(a.extent for a in axes), tuple(d for a in axes for d in a.dims)
        )
        self.axes[at : at + len(axes)] = [made]
        return made

    def reorder(self, *axes: Axis) -> None:
        """The named axes in this order, at the places they hold now."""
        places = sorted(self._at(a) for a in axes)
        if len(set(places)) != len(places):
            raise TbeError("reorder names an axis twice", "name each once")
        for place, axis in zip(places, axes, strict=True):
            self.axes[place] = axis

    def bind(self, axis: Axis, thread: str = BLOCK_AXIS) -> None:
        """Deal the steps of an axis out to the cores; it has to be the outermost one."""
        if thread != BLOCK_AXIS:
            raise TbeError(f"bind to {thread!r}", f"only {BLOCK_AXIS} exists")
        if self._at(axis) != 0:
            raise TbeError(f"{axis.name} is bound to the cores and not the outermost axis", "reorder it to the front")
        self.bound = axis

    def compute_at(self, stage: Stage, axis: Axis) -> None:
        """Compute this tensor tile by tile inside an axis of another stage."""
        stage._at(axis)
        self.attached = (stage, axis)

    def double_buffer(self) -> None:
        """Two tiles in turn, so that transfers and computation overlap."""
        self.doubled = True

    def compute_inline(self) -> None:
        """No buffer of its own: computed where it is used."""
        if self.tensor.operation is None:
            raise TbeError(f"{self.tensor.name} is an operand and cannot be computed inline", "cache_read it")
        self.inlined = True

    def set_scope(self, scope: str) -> None:
        if scope not in SCOPES:
            raise TbeError(f"scope {scope!r}", f"scopes are {', '.join(SCOPES)}")
        self.scope = scope

    def emit_insn(self, axis: Axis | None, instruction: str) -> None:
        """Replace the loops from an axis inward by an instruction: the operation's own, vector_auto for that, or dma_copy."""
        own = self.tensor.operation.instruction if self.tensor.operation is not None else "dma_copy"
        if instruction not in (own, "vector_auto", "dma_copy"):
            raise TbeError(f"{self.tensor.name} is computed by {own}, not {instruction}", f"emit {own} or vector_auto")
        if axis is not None and self.attached is None:
            self._at(axis)
        self.instruction = own if instruction == "vector_auto" else instruction


class Schedule:
    """The stages of a computation with one output."""

    def __init__(self, out: Tensor) -> None:
        self.out = out
        self.tensors = order([out])
        self.root = max(self.tensors, key=lambda t: t.elements)
        self.stages = {t: Stage(t) for t in self.tensors}
        self.cached: dict[Tensor, Stage] = {}
        axes = [Axis(f"{out.name}.i{i}", extent, (i,)) for i, extent in enumerate(self.root.shape)]
        self.stages[out].axes = axes

    def __getitem__(self, tensor: Tensor) -> Stage:
        try:
            return self.stages[tensor]
        except KeyError:
            raise TbeError(f"{tensor.name} is not part of this computation", "schedule the tensors it was made of") from None

    def cache_read(self, tensor: Tensor, scope: str = "local.UB") -> Stage:
        """A stage that brings an operand into a buffer."""
        if self[tensor].tensor.operation is not None:
            raise TbeError(f"{tensor.name} is computed and not read", "set_scope says where it is kept")
        return self._cache(tensor, scope)

    def cache_write(self, tensor: Tensor, scope: str = "local.UB") -> Stage:
        """A stage in which the output is made before it goes out."""
        if tensor is not self.out:
            raise TbeError(f"{tensor.name} is not the output", f"the output is {self.out.name}")
        return self._cache(tensor, scope)

    def _cache(self, tensor: Tensor, scope: str) -> Stage:
        made = self.cached.setdefault(tensor, Stage(tensor))
        made.set_scope(scope)
        return made

    def dims(self) -> Sequence[int]:
        return self.root.shape


def create_schedule(out: Tensor) -> Schedule:
    """A schedule that says nothing yet: one core, one element after the other."""
    return Schedule(out)
