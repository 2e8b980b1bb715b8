"""Operators of the user's own (npu.tbe.custom_opp) in a model: what onnx is told of them, their kernels, their arithmetic.

The .om needs no file of the user's: the computation goes into it as a local function, the schedule as the kernel's Work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from npu.cost.work import Work
from npu.graph.custom_function import body_of
from npu.graph.errors import AtcError
from npu.graph.lowering import Lowering
from npu.graph.microsoft.node import Node as Context
from npu.graph.types import NAMES, node_of, operands
from npu.ops import registry
from npu.ops.node import Lowered, Misfit, Node, Operand
from npu.soc import Soc
from npu.tbe import TbeError, custom_opp
from npu.tbe.kernel import work_of
from npu.tbe.tensor import TYPES, Tensor

NUMBERS = {name: number for number, name in NAMES.items()}
# type of an attribute's default -> kind in onnx
KINDS: dict[type, str] = {bool: "INT", int: "INT", float: "FLOAT", str: "STRING"}


def offer(proto: Any) -> None:
    """Make the operators of the model's domains known to the library. AtcError E10055 for a file that cannot be run."""
    for domain in {o.domain for o in proto.opset_import} - {"", *registry.OURS}:
        try:
            found = custom_opp.operators(domain)
        except TbeError as error:
            raise AtcError("E10055", reason=error.what, more=(error.next,)) from error
        if found:
            registry.offer(domain, dict.fromkeys(found, lower))


def ours(domain: str) -> bool:
    """Whether a domain has operators of the user's."""
    return bool(domain) and domain not in registry.OURS and bool(custom_opp.known(domain))


def lower(node: Node) -> Lowered:
    """The kernel of a node, as vector work until scheduled() knows the chip."""
    written = sum(o.bytes for o in node.outputs)
    elements = sum(o.elements for o in node.outputs)
    dtype = node.outputs[0].dtype
    return Lowered(node.op_type, Work("vector", node.op_type, dtype, (elements, 1), sum(i.bytes for i in node.given), written))


def scheduled(made: Lowering | None, chip: Soc, own: bool) -> Lowering | None:
    """The lowering with the Work of the operator's schedule on a chip. Misfit names the node and what does not fit."""
    if made is None or not ours(made.node.domain):
        return made
    node = made.node
    try:
        operator = custom_opp.known(node.domain)[node.op_type]
        work = work_of(operator.scheduled(_computed(node), chip, own), node.op_type, chip)
    except TbeError as error:
        raise Misfit(node.name, f"{error.what}; {error.next}") from error
    return replace(made, lowered=replace(made.lowered, work=work))


def _computed(node: Node) -> Tensor:
    """The computation of a node. TbeError."""
    if any(-1 in o.dims or not o.ranked for o in node.given):
        raise TbeError(f"{node.op_type} has inputs of open shape", "fix them with --input_shape, or give gears")
    attributes = {n: v.decode("utf-8", "replace") if isinstance(v, bytes) else v for n, v in node.attributes.items()}
    attributes = {n: tuple(v) if hasattr(v, "__iter__") and not isinstance(v, str) else v for n, v in attributes.items()}
    return custom_opp.known(node.domain)[node.op_type].made([(o.dims, o.dtype) for o in node.given], attributes)


def function(proto: Any, types: Mapping[str, Operand], opsets: Any) -> Any:
    """The FunctionProto that computes a node. AtcError E19999 where the operator does not take its inputs."""
    try:
        operator = custom_opp.known(proto.domain)[proto.op_type]
        return body_of(_computed(node_of(proto, types)), operator.inputs, proto.op_type, opsets)
    except TbeError as error:
        reason = f"{proto.name}: {error.what}; {error.next}"
        raise AtcError("E19999", reason="InferShapeAndType failed.", more=(reason,)) from error


def why(proto: Any, graph: Any) -> str:
    """Why a node of ours has no results; "" for other nodes and where none is found."""
    if ours(proto.domain):
        try:
            _computed(node_of(proto, operands(graph)))
        except TbeError as error:
            return f"{error.what}; {error.next}"
    return ""


def schemas(proto: Any) -> Iterator[Any]:
    """An onnx schema for each operator of the domains of a model."""
    for domain in {o.domain for o in proto.opset_import}:
        if ours(domain):
            yield from (_schema(operator) for operator in custom_opp.known(domain).values())


def _schema(operator: custom_opp.Operator) -> Any:
    from onnx.defs import OpSchema

    allowed = [f"tensor({'float' if t == 'float32' else t})" for t in TYPES]
    made = OpSchema(
        operator.name,
        operator.domain,
        1,
        inputs=[OpSchema.FormalParameter(n, f"T{at}") for at, n in enumerate(operator.inputs)],
        outputs=[OpSchema.FormalParameter("out", "R")],
        type_constraints=[(f"T{at}", allowed, "") for at in range(len(operator.inputs))] + [("R", allowed, "")],
        attributes=[_attribute(OpSchema, n, default) for n, default in operator.attributes.items()],
    )
    made.set_type_and_shape_inference_function(_inference(operator))
    return made


def _attribute(schema: Any, name: str, default: object) -> Any:
    if isinstance(default, tuple | list):
        kind = "FLOATS" if any(isinstance(v, float) for v in default) else "INTS"
    else:
        kind = KINDS.get(type(default), "INT")
    return schema.Attribute(name, getattr(schema.AttrType, kind), required=False)


def _inference(operator: custom_opp.Operator) -> Callable[[Any], None]:
    """The type of the output, where the inputs are known: shapes.infer names a node that got none."""

    def infer(given: Any) -> None:
        context = Context(given)
        sources = []
        for at in range(given.get_num_inputs()):
            dims = context.dims(at)
            if dims is None or not all(isinstance(d, int) for d in dims):
                return
            sources.append(Operand(f"in{at}", NAMES[context.type(at)], tuple(d for d in dims if isinstance(d, int))))
        attributes = {n: _value(given.get_attribute(n)) for n in operator.attributes if given.get_attribute(n) is not None}
        with suppress(TbeError):
            out = _computed(Node("", operator.name, tuple(sources), (), attributes, operator.domain))
            context.give(NUMBERS[out.dtype], out.shape)

    return infer


def _value(attribute: Any) -> object:
    from onnx import helper

    return helper.get_attribute_value(attribute)
