"""From an ONNX file to a clean graph: constants lifted, inputs fixed, shapes inferred, every node named.

Everything here works on the protobuf, which is much cheaper than on an IR: models of hundreds of Constant nodes are common.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npu.graph import custom, weights
from npu.graph.borders import OUTPUT_TYPES, cast_outputs, choose_outputs, take_fp16
from npu.graph.checks import NEWEST_OPSET, check_names, check_nodes, check_operators, check_versions, check_weights
from npu.graph.declared import declared_shapes
from npu.graph.input_shape import apply_shapes
from npu.graph.onnx_file import read
from npu.graph.shapes import infer
from npu.graph.tidy import drop_overridable, lift_constants, name_nodes, state_defaults
from npu.graph.written_out import write_out

IR = 10  # written: the first with metadata on nodes


@dataclass(frozen=True)
class Source:
    """A model as it is read: checked, constants lifted, nothing of it depends on shapes. large: the data of the large weights,
    which the proto is without."""

    proto: Any
    large: weights.Weights


@dataclass
class Parsed:
    """A model ready for the passes. stored: the shapes the file claimed for its values, open dims -1; large: as of Source."""

    proto: Any
    stored: dict[str, tuple[int, ...]]
    large: weights.Weights


def read_checked(path: Path, newest: int = NEWEST_OPSET) -> Source:
    """Read a model, check it and lift its constants. AtcError names what is wrong with the file or an operator. newest: the
    highest operator set that is taken."""
    large: weights.Weights = {}
    proto = read(path, large)
    opset = check_versions(proto, path)
    check_weights(proto, path, large)
    custom.offer(proto)
    if proto.functions:
        from onnx.inliner import inline_local_functions

        proto = inline_local_functions(proto)
    graph = proto.graph
    name_nodes(graph)
    check_names(graph, path)
    write_out(proto, opset)
    check_operators(proto, opset, newest)
    check_nodes(proto, path)
    state_defaults(graph)
    lift_constants(graph)
    drop_overridable(graph)
    proto.ir_version = IR
    return Source(proto, large | weights.set_aside(graph))


def parse(
    checked: Source, shapes: Mapping[str, tuple[int, ...]], out_nodes: tuple[str, ...] = (), output_type: str = "",
    fp16_nodes: tuple[str, ...] = (),
) -> Parsed:  # fmt: skip
    """A copy of a checked model with fixed inputs and inferred shapes. AtcError names what is wrong with --input_shape,
    --out_nodes or --input_fp16_nodes."""
    proto = type(checked.proto)()
    proto.CopyFrom(checked.proto)
    graph = proto.graph
    apply_shapes(graph, shapes)
    take_fp16(graph, fp16_nodes)
    if out_nodes:
        choose_outputs(graph, out_nodes)
    stored = declared_shapes(graph)
    infer(proto)
    if output_type and cast_outputs(graph, OUTPUT_TYPES[output_type]):
        infer(proto)
    return Parsed(proto, stored, dict(checked.large))
