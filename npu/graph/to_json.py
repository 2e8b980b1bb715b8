"""--mode=1 and --mode=5: a model as JSON, in the forms of the real tool.

An .om becomes the engine's model definition (attributes as key and value, operators with descriptions of their tensors); an ONNX
model its own message; a dumped graph (ge_proto_*.txt) the message that its text holds. Weights are left out of all.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from npu import om
from npu.dtypes import DTYPES
from npu.graph.errors import AtcError
from npu.graph.onnx_file import read
from npu.graph.prototxt import Malformed, Message, parse

DATA = ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data")  # of a TensorProto
LEFT_OUT = {
    *("output", "data_offset", "data", "workspace", "workspace_bytes", "memory_size", "weight_size", "size", "bt"),
    "quantize_factor",
}
# Repeated fields of the engine's messages: lists also where they hold one entry.
REPEATED = {
    *("graph", "op", "input", "attr", "input_desc", "output_desc", "dim", "src_name", "src_index", "dst_name", "dst_index"),
    *("input_name", "input_i", "output_i", "is_input_const", "subgraph_name", "s", "i", "f", "b"),
}
ONE = {"value"}  # messages that hold one of s, i, f, b


def of_onnx(path: Path) -> dict[str, Any]:
    """The message of an ONNX model. AtcError when it is none."""
    return _message(read(path), DATA)


def _message(message: Any, left_out: Iterable[str]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for field, value in message.ListFields():
        if field.name in left_out:
            continue
        many = not isinstance(value, str | bytes | int | float | bool) and not hasattr(value, "ListFields")
        found = [_value(field, v, left_out) for v in (value if many else [value])]
        made[field.name] = found if many else found[0]
    return made


def _value(field: Any, value: Any, left_out: Iterable[str]) -> Any:
    if hasattr(value, "ListFields"):
        return _message(value, left_out)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return known.name if known is not None else value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def of_text(path: Path) -> dict[str, Any]:
    """The message of a text file. AtcError E13001 when it cannot be opened, E13005 when it is malformed."""
    try:
        return _fields(parse(path.read_text(encoding="utf-8")), "")
    except OSError as error:
        raise AtcError("E13001", file=path, errmsg=error.strerror) from error
    except (Malformed, UnicodeDecodeError) as error:
        raise AtcError("E13005", file=path, more=(str(error),)) from error


def _fields(message: Message, inside: str) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for field in message.fields:
        if field.name in LEFT_OUT:
            continue
        value = _fields(field.value, field.name) if isinstance(field.value, Message) else field.value
        if field.name in REPEATED and inside not in ONE:
            made.setdefault(field.name, []).append(value)
        elif field.name in made:
            before = made[field.name]
            made[field.name] = [*before, value] if isinstance(before, list) else [before, value]
        else:
            made[field.name] = value
    return made


def of_om(path: Path) -> dict[str, Any]:
    """The model definition of an .om. AtcError E10041, E13001."""
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from onnx import ModelProto

    try:
        model = om.load(path)
        data = path.read_bytes()
        if not om.intact(data):
            raise om.BadModel(str(path), "the file was changed after atc wrote it")
        proto = ModelProto.FromString(data)
    except om.BadModel as error:
        raise AtcError("E10041", parameter=path, more=(error.reason,)) from error
    except DecodeError as error:
        raise AtcError("E10041", parameter=path, more=(str(error),)) from error
    except OSError as error:
        raise AtcError("E13001", file=path, errmsg=error.strerror) from error
    streams = len({k.stream for k in model.kernels}) or 1
    attributes = {
        "soc_version": model.soc, "atc_version": model.build.get("cann", ""), "atc_cmdline": model.build.get("command", ""),
        "stream_num": streams, "event_num": len(model.events), "precision_mode": model.build.get("precision_mode", ""),
    }  # fmt: skip
    graph = {"name": proto.graph.name, "input": [f"{t.name}:0" for t in model.inputs], "op": list(_operators(model, proto.graph))}
    return {"name": proto.graph.name, "attr": _attributes(attributes), "graph": [graph]}


def _operators(model: om.Model, graph: Any) -> Iterable[dict[str, Any]]:
    """Inputs, kernels and nodes without one in the order of the graph, the end. Conversions the converter put between nodes have
    descriptions and no neighbours: their places are not in the file."""
    makers = {t.name: (t.name, 0) for t in model.inputs}
    number = 0
    for tensor in model.inputs:
        desc = _desc(tensor.dims, tensor.dtype, tensor.format)
        yield {"name": tensor.name, "type": "Data", "id": number, "output_desc": [desc]}
        number += 1
    alike: dict[str, str] = {}  # rounded value -> the value it is the rounding of
    for node in graph.node:
        if _rounds(node):
            alike[node.output[0]] = node.input[0]
        makers |= {o: (node.name, at) for at, o in enumerate(node.output) if not _rounds(node)}
    for node, kernel in _in_order(model, graph):
        sources = (_maker(i, makers, alike) for i in node.input) if node is not None else ()
        yield _operator(number, node, kernel, [s for s in sources if s])
        number += 1
    ends = [_maker(t.name, makers, alike) for t in model.outputs]
    described = [_desc(t.dims, t.dtype, t.format) for t in model.outputs]
    yield {"name": "Node_Output", "type": "NetOutput", "id": number, "input": [e for e in ends if e], "input_desc": described}


def _rounds(node: Any) -> bool:
    return bool(node.name.endswith(("/to_half", "/to_float")))


def _in_order(model: om.Model, graph: Any) -> Iterable[tuple[Any, om.Kernel | None]]:
    """Nodes with their kernels, and kernels without a node where they run."""
    waiting = list(reversed(model.kernels))
    names = {n.name for n in graph.node}
    own = {k.name for k in waiting}
    for node in graph.node:
        if _rounds(node):
            continue
        if node.name not in own:
            yield node, None
            continue
        while waiting and waiting[-1].name not in names:
            yield None, waiting.pop()
        yield node, waiting.pop() if waiting else None
    while waiting:
        yield None, waiting.pop()


def _maker(name: str, makers: dict[str, tuple[str, int]], alike: dict[str, str]) -> str:
    while name not in makers and name in alike:
        name = alike[name]
    return "{}:{}".format(*makers[name]) if name in makers else ""


def _operator(number: int, node: Any, kernel: om.Kernel | None, inputs: list[str]) -> dict[str, Any]:
    if kernel is None:
        return {"name": node.name, "type": node.op_type, "id": number, "input": inputs, "attr": _attributes({"_no_task": True})}
    made: dict[str, Any] = {"name": kernel.name, "type": kernel.op_type, "id": number, "stream_id": kernel.stream}
    if inputs:
        made["input"] = inputs
    for side in ("in", "out"):
        columns = [getattr(kernel, f"{side}_{what}").split(";") for what in ("shapes", "dtypes", "formats")]
        made["input_desc" if side == "in" else "output_desc"] = [
            _desc([int(d) for d in shape.split(",") if d], dtype, layout)
            for shape, dtype, layout in zip(*columns, strict=False)
            if dtype
        ]
    if kernel.origin:
        made["attr"] = _attributes({"_datadump_original_op_names": kernel.origin.split("+")})
    return made


def _desc(dims: Iterable[int], dtype: str, layout: str) -> dict[str, Any]:
    name = DTYPES[dtype][2] if dtype in DTYPES else dtype
    return {"dtype": f"DT_{name.removeprefix('DT_')}", "layout": layout, "shape": {"dim": list(dims)}}


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    def value(given: Any) -> dict[str, Any]:
        if isinstance(given, bool):
            return {"b": given}
        if isinstance(given, int):
            return {"i": given}
        return {"list": {"s": list(given)}} if isinstance(given, list) else {"s": str(given)}

    return [{"key": k, "value": value(v)} for k, v in values.items()]
