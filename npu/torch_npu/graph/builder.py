"""The ONNX graph of an FX graph, node by node: values with their types, constants, places for kernels of the framework's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torch import fx

from npu.graph.custom import NUMBERS
from npu.graph.kernels import ORIGIN
from npu.graph.online import KERNEL, OWN
from npu.om import Kernel
from npu.torch_npu.graph.values import Value, Watch, is_item
from npu.torch_npu.operators import Operator
from npu.torch_npu.work import Seen, kernels, made_contiguous

if TYPE_CHECKING:
    import numpy as np

OPSET = 23  # the first with every operator that is written here
STEP = 8  # conv kernels of the older compile path are numbered; so many numbers one operator may use


class Builder:
    """A graph in the making. own: place -> its kernels; alone: operators that have no counterpart, with how often they occur."""

    def __init__(self, watch: Watch) -> None:
        self.values, self.given, self.laid = watch
        self.nodes: list[Any] = []
        self.types: dict[str, Seen] = {}
        self.constants: list[Any] = []
        self.own: dict[str, tuple[Kernel, ...]] = {}
        self.alone: Counter[str] = Counter()
        self.origin = ""
        self._straight: dict[fx.Node, str] = {}
        self._counts: Counter[str] = Counter()
        self._numbers = 0

    def seen(self, node: fx.Node) -> Value:
        """The value of a node: a Seen, a tuple of them, or what is no tensor."""
        return self.values[node]

    def raw(self, node: fx.Node) -> str:
        """The name of a node's value as it lies there, strides and all."""
        if is_item(node):
            return f"{node.args[0]}.{node.args[1]}"
        name = f"{node}.0" if isinstance(self.values[node], tuple) and not isinstance(self.values[node], Seen) else str(node)
        if node in self.given:
            self.types.setdefault(name, self.values[node])
        return name

    def read(self, value: Any, like: str = "float32") -> str:
        """The name of an operand: a node's value, made contiguous where it is an input that is not; or a number, as a constant
        of the type of its partner."""
        if not isinstance(value, fx.Node):
            return self.constant([] if value is None else value, like)
        source = self.given.get(value)
        kind = made_contiguous(source) if source is not None else ""
        if not kind or source is None:
            return self.raw(value)
        if value not in self._straight:
            whole = Seen(source.dtype, source.dims)
            mover = Operator(kind, f"aclnn{kind}", (), "layout")
            name = self._straight[value] = f"{value}.contiguous"
            self.place(name, [self.raw(value)], [name], [whole], kernels(mover, (source,), (whole,), self.number()))
        return self._straight[value]

    def number(self) -> int:
        self._numbers += STEP
        return self._numbers - STEP

    def constant(self, value: Any, dtype: str) -> str:
        """A constant of few elements."""
        from onnx import helper

        flat: list[Any] = list(value) if isinstance(value, list | tuple) else [value]
        name = f"constant.{len(self.constants)}"
        dims = [len(flat)] if isinstance(value, list | tuple) else []
        self.constants.append(helper.make_tensor(name, NUMBERS[dtype], dims, flat))
        return name

    def array(self, node: fx.Node, value: np.ndarray[Any, Any]) -> None:
        """A node whose value is known."""
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(value, self.raw(node)))

    def temporary(self, dtype: str, dims: Sequence[int]) -> str:
        """A new value between two nodes."""
        name = f"{self.origin}.inner{len(self.types)}"
        self.types[name] = Seen(dtype, tuple(dims))
        return name

    def out(self, node: fx.Node, number: int | None = None) -> str:
        """The value a node makes; number: which of several."""
        made: Value = self.values[node]
        if number is None:
            self.types[str(node)] = made
            return str(node)
        self.types[f"{node}.{number}"] = made[number]
        return f"{node}.{number}"

    def add(self, op: str, reads: Sequence[str], makes: Sequence[str], domain: str = "", **attributes: Any) -> None:
        """A node of ONNX."""
        from onnx import helper

        self._counts[op] += 1
        made = helper.make_node(op, reads, makes, name=f"{op}_{self._counts[op]}", domain=domain, **attributes)
        made.metadata_props.add(key=ORIGIN, value=self.origin)
        self.nodes.append(made)

    def place(
        self, name: str, reads: Sequence[str], makes: Sequence[str], outs: Sequence[Seen], made: tuple[Kernel, ...]
    ) -> None:
        """A place that these kernels take in the plan."""
        from onnx import helper

        self.types |= dict(zip(makes, outs, strict=True))
        self.nodes.append(helper.make_node(KERNEL, reads, makes, name=name, domain=OWN))
        self.own[name] = made

    def finished(self, outputs: Sequence[str]) -> Any:
        """The ModelProto. outputs: names of values that leave the graph."""
        from onnx import helper

        def info(name: str, seen: Seen) -> Any:
            return helper.make_tensor_value_info(name, NUMBERS[seen.dtype], seen.dims)

        known = {t.name for t in self.constants}
        read = {i for n in self.nodes for i in n.input}
        inputs = [n for node in self.given for n in (self.raw(node),) if n in read]
        leaves = [n for n in dict.fromkeys(outputs) if n in self.types and n not in known and n not in inputs]
        graph = helper.make_graph(
            self.nodes,
            "graph",
            [info(n, self.types[n]) for n in inputs],
            [info(n, self.types[n]) for n in leaves],
            self.constants,
            value_info=[info(n, s) for n, s in self.types.items() if n not in inputs and n not in leaves],
        )
        opsets = [helper.make_opsetid(d, v) for d, v in (("", OPSET), (OWN, 1), ("com.microsoft", 1))]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

