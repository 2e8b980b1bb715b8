"""What a model must be before it is worked on: versions, size, known operators, nodes in order."""

from __future__ import annotations

from collections.abc import Collection
from math import prod
from pathlib import Path
from typing import Any

from npu.dtypes import DTYPES, tensor_bytes
from npu.graph.errors import AtcError
from npu.graph.microsoft.register import known
from npu.graph.types import NAMES
from npu.graph.walk import graphs, nodes
from npu.ops.compute_limits import MAX_NODES, ComputeError, expanded
from npu.ops.registry import DOMAINS, supported

# Operator sets the parsers of the toolkit register: ai.onnx::8 .. ai.onnx::20 at most, seen in the public operator plugins.
OLDEST_OPSET, NEWEST_OPSET = 7, 20
SAFE_OPSET = 11
TAKES_ITS_PLACE = {"Upsample": " (Resize)", "Scatter": " (ScatterElements)"}
MAX_IR = 14  # of the ONNX file format
# Fields of a TensorProto without raw data -> types that have one value per element there
FIELDS = {
    "float_data": ("float32",),
    "double_data": ("float64",),
    "int64_data": ("int64",),
    "uint64_data": ("uint32", "uint64"),
    "int32_data": ("int32", "int16", "int8", "uint16", "uint8", "bool", "float16", "bfloat16"),
}


def check_versions(proto: Any, path: Path) -> int:
    """The version of the default operator set. AtcError for a newer file format, a model without graph, or a huge expansion."""
    if proto.ir_version > MAX_IR:
        raise AtcError(
            "E10041",
            parameter=path,
            more=(
                f"The model has IR version {proto.ir_version}, the highest one that can be read is {MAX_IR}.",
                "Set a lower ir_version when the model is saved (the operators may well be old ones), or use a newer toolkit.",
            ),
        )
    if not proto.HasField("graph") or not proto.graph.node:
        if proto.HasField("graph") and proto.graph.output:
            raise AtcError("E10041", parameter=path, more=("The graph has no node.",))
        raise AtcError("E16004")
    try:
        _, count = expanded(proto)
    except ComputeError as error:
        raise AtcError("E10041", parameter=path, more=(error.reason,)) from error
    if count > MAX_NODES:
        raise AtcError("E13023", item="expanded graph", size=count, maxsize=MAX_NODES)
    return opset_of(proto)


def opset_of(proto: Any) -> int:
    """The version of the default operator set, 1 where none is stated. AtcError E16005 for entries that contradict each other."""
    stated = [int(o.version) for o in proto.opset_import if o.domain in DOMAINS]
    if len(set(stated)) > 1:
        found = ", ".join(f"opset {v}" for v in stated)
        raise AtcError("E16005", domain_version_size=len(stated), more=(f"opset_import of the default domain: {found}.",))
    return stated[0] if stated else 1


def check_weights(proto: Any, path: Path, apart: Collection[str]) -> None:
    """AtcError E10041 for a weight that holds more or less data than its shape says. apart: those whose data was cut out."""
    for graph in graphs(proto.graph):
        for tensor in (*graph.initializer, *(a.t for n in graph.node for a in n.attribute if a.HasField("t"))):
            wanted, found, unit = _held(tensor)
            if wanted == found or tensor.name in apart:
                continue
            kind = f"{NAMES[tensor.data_type]} {list(tensor.dims)}"
            which = f"The weight {tensor.name or 'of a Constant node'}, {kind},"
            raise AtcError("E10041", parameter=path, more=(f"{which} needs {wanted} {unit}, the file holds {found}.",))


def _held(tensor: Any) -> tuple[int, int, str]:
    """What a TensorProto should hold and what it does, and of what; equal figures where nothing is known about its type."""
    dtype = NAMES.get(tensor.data_type, "")
    if tensor.HasField("raw_data") and dtype in DTYPES and dtype != "string":
        return tensor_bytes(tuple(tensor.dims), dtype), len(tensor.raw_data), "bytes"
    field = next((f for f, kinds in FIELDS.items() if dtype in kinds), None)
    return (0, 0, "") if field is None else (prod(tensor.dims), len(getattr(tensor, field)), "values")


def check_names(graph: Any, path: Path) -> None:
    """AtcError E10041 when a node reads a value that nothing before it makes."""
    known = {i.name for i in (*graph.input, *graph.initializer)} | {s.values.name for s in graph.sparse_initializer}
    for node in graph.node:
        for name in node.input:
            if name and name not in known:
                raise AtcError("E10041", parameter=path, more=(f"Node {node.name} reads {name}, which nothing before it makes.",))
        again = next((o for o in node.output if o in known), None)
        if again is not None:
            raise AtcError("E10041", parameter=path, more=(f"Node {node.name} makes {again}, which is there already.",))
        known |= {o for o in node.output if o}
    for output in graph.output:
        if output.name not in known:
            raise AtcError("E10041", parameter=path, more=(f"No node makes the output {output.name}.",))


def check_operators(proto: Any, opset: int, newest: int = NEWEST_OPSET) -> None:
    """AtcError E19010 that lists every operator without a parser: unknown type or domain, or an operator set newer than that."""
    within = OLDEST_OPSET <= opset <= newest
    missing = [(n.name, kind_of(n, proto, opset)) for n in nodes(proto.graph) if not takes(n, opset, newest)]
    if not missing:
        return
    more = tuple(f"No parser is registered for op [{name}, optype [{kind}]]." for name, kind in missing[1:])
    more += tuple(dict.fromkeys(said for n in nodes(proto.graph) if (said := _of_other_opset(n, opset))))
    if not within:
        more += (
            f"The model uses opset {opset}; the supported range is {OLDEST_OPSET} to {newest}. "
            f"Export it again with opset_version={SAFE_OPSET} (11 to 17 are safe).",
        )
    raise AtcError("E19010", opname=missing[0][0], optype=missing[0][1], more=more)


def takes(node: Any, opset: int, newest: int = NEWEST_OPSET) -> bool:
    """Whether there is a parser for a node of a model of that operator set."""
    within = node.domain not in DOMAINS or OLDEST_OPSET <= opset <= newest
    return within and supported(node.domain, node.op_type) and not _of_other_opset(node, opset)


def _of_other_opset(node: Any, opset: int) -> str:
    """One sentence for an operator that this operator set does not have, and another one does; "" for all others."""
    from onnx import defs

    if node.domain not in DOMAINS or not supported(node.domain, node.op_type):
        return ""
    try:
        schema = defs.get_schema(node.op_type, opset, "")
    except defs.SchemaError:
        versions = [s.since_version for s in defs.get_all_schemas_with_history() if s.name == node.op_type and not s.domain]
        known_since = min((v for v in versions if v > opset), default=0)
        if not known_since:
            return ""
        return (
            f"{node.op_type} is an operator of opset {known_since} and later, the model uses opset {opset}: "
            f"export it with opset_version={known_since}, or without this operator."
        )
    if not schema.deprecated:
        return ""
    return (
        f"{node.op_type} is deprecated since opset {schema.since_version}, the model uses opset {opset}: export it again from "
        f"the framework, whose exporter writes what takes its place{TAKES_ITS_PLACE.get(node.op_type, '')}."
    )


def kind_of(node: Any, proto: Any, opset: int) -> str:
    """An operator's type as the real parsers name it: domain::version::type."""
    version = opset if node.domain in DOMAINS else next((o.version for o in proto.opset_import if o.domain == node.domain), 1)
    return f"{node.domain or 'ai.onnx'}::{version}::{node.op_type}"


def check_nodes(proto: Any, path: Path) -> None:
    """AtcError E10041 for a node whose inputs or attributes its operator does not allow (nodes with subgraphs left aside)."""
    from onnx import checker

    context = checker.C.CheckerContext()
    context.ir_version = proto.ir_version
    context.opset_imports = {"" if o.domain in DOMAINS else o.domain: o.version for o in proto.opset_import}
    with known(proto):
        for node in nodes(proto.graph):
            if any(a.HasField("g") or a.graphs for a in node.attribute):
                continue
            try:
                checker.check_node(node, context)
            except checker.ValidationError as error:
                said = " ".join(str(error).split())[:400]
                named = said if node.name and node.name in said else f"Node {node.name} ({node.op_type}): {said}"
                raise AtcError("E10041", parameter=path, more=(named,)) from error
