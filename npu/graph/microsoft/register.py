"""The schemas lent to onnx: inputs, attributes and types are onnxruntime's own, how results look is said in results.py."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from npu.graph import custom
from npu.graph.microsoft.node import Node
from npu.graph.microsoft.results import RESULTS, Infer
from npu.ops.registry import MICROSOFT, rules


@contextmanager
def known(proto: Any) -> Iterator[None]:
    """onnx knows the operators of com.microsoft, and those of the user's own domains, as long as this lasts, if the model has the
    domain. Not longer: onnx.reference refuses to be imported while two domains have operators of one name."""
    from onnx.defs import deregister_schema, register_schema

    added = schemas() if any(o.domain == MICROSOFT for o in proto.opset_import) else ()
    added = (*added, *custom.schemas(proto))
    for schema in added:
        register_schema(schema)
    try:
        yield
    finally:
        for schema in added:
            deregister_schema(schema.name, schema.since_version, schema.domain)


@cache
def schemas() -> tuple[Any, ...]:
    """One of each supported operator."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    ours = rules(MICROSOFT)
    return tuple(_schema(s, RESULTS[s.name]) for s in state.get_all_operator_schema() if s.domain == MICROSOFT and s.name in ours)


def _schema(theirs: Any, infer: Infer) -> Any:
    from onnx.defs import OpSchema

    def parameter(given: Any) -> Any:
        option = getattr(OpSchema.FormalParameterOption, given.option.name)
        return OpSchema.FormalParameter(
            given.name, given.typeStr, "", param_option=option, is_homogeneous=given.isHomogeneous, min_arity=0
        )

    made = OpSchema(
        theirs.name,
        theirs.domain,
        theirs.since_version,
        inputs=[parameter(p) for p in theirs.inputs],
        outputs=[parameter(p) for p in theirs.outputs],
        type_constraints=[(t.type_param_str, t.allowed_type_strs, "") for t in theirs.type_constraints],
        attributes=[
            OpSchema.Attribute(name, getattr(OpSchema.AttrType, a.type.name), required=a.required)
            for name, a in theirs.attributes.items()
        ],
    )
    made.set_type_and_shape_inference_function(lambda context: _guarded(infer, Node(context)))
    return made


def _guarded(infer: Infer, node: Node) -> None:
    """Operands of another rank than the operator takes leave the results untyped: the checks after inference name the node."""
    with suppress(IndexError, TypeError, ValueError, ZeroDivisionError):
        infer(node)
