"""One form for what ONNX files write in several: named nodes, constants as initializers, weights that are no inputs."""

from __future__ import annotations

from typing import Any

from npu.graph.walk import graphs, nodes


def name_nodes(graph: Any) -> None:
    """Nodes without a name get OpType_number, names used twice a number behind: profiles and --out_nodes need them."""
    taken: set[str] = set()
    for number, node in enumerate(graph.node):
        base = node.name or f"{node.op_type}_{number}"
        name, again = base, 1
        while name in taken:
            again += 1
            name = f"{base}_{again}"
        node.name = name
        taken.add(name)


def state_defaults(graph: Any) -> None:
    """MeanVarianceNormalization says its axes: onnx's inference expands it without the default of that attribute and fails."""
    from onnx import helper

    for node in nodes(graph):
        if node.op_type == "MeanVarianceNormalization" and not node.domain and not node.attribute:
            node.attribute.append(helper.make_attribute("axes", [0, 2, 3]))


def lift_constants(graph: Any) -> None:
    """Constant nodes become initializers, in subgraphs too: passes look for weights there."""
    from onnx import helper, numpy_helper

    plain = {"value_float": 1, "value_floats": 1, "value_int": 7, "value_ints": 7, "value_string": 8, "value_strings": 8}
    for inner in graphs(graph):
        kept = []
        for node in inner.node:
            attribute = node.attribute[0] if node.op_type == "Constant" and not node.domain and len(node.attribute) == 1 else None
            if attribute is None or attribute.ref_attr_name or (attribute.name != "value" and attribute.name not in plain):
                kept.append(node)
                continue
            if attribute.name == "value":
                tensor = inner.initializer.add()
                tensor.CopyFrom(attribute.t)
            else:
                value = helper.get_attribute_value(attribute)
                dims = [len(value)] if attribute.name.endswith("s") else []
                tensor = inner.initializer.add()
                tensor.CopyFrom(helper.make_tensor(node.output[0], plain[attribute.name], dims, value if dims else [value]))
            tensor.name = node.output[0]
        if len(kept) != len(inner.node):
            copies = [type(n).FromString(n.SerializeToString()) for n in kept]
            del inner.node[:]
            inner.node.extend(copies)
        for sparse in inner.sparse_initializer:
            dense = inner.initializer.add()
            dense.CopyFrom(numpy_helper.from_array(_dense(sparse), sparse.values.name))
        del inner.sparse_initializer[:]


def _dense(sparse: Any) -> Any:
    import numpy as np
    from onnx import numpy_helper

    values, indices = numpy_helper.to_array(sparse.values), numpy_helper.to_array(sparse.indices)
    made = np.zeros(tuple(sparse.dims), values.dtype)
    if indices.ndim == 1:
        made.reshape(-1)[indices] = values
    else:
        made[tuple(indices.T)] = values
    return made


def drop_overridable(graph: Any) -> None:
    """Files of IR version 3 list weights among the inputs too: they would count as changeable and stop folding."""
    weights = {i.name for i in graph.initializer}
    kept = [i for i in graph.input if i.name not in weights]
    if len(kept) != len(graph.input):
        copies = [type(i).FromString(i.SerializeToString()) for i in kept]
        del graph.input[:]
        graph.input.extend(copies)
