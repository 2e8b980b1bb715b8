"""acl.mdl: models of several fixed shapes and of open shapes, from hand-made model files."""

from __future__ import annotations

from dataclasses import replace

import onnx
from onnx import TensorProto, helper

from npu import om
from tests.scripts.acl_script import said
from tests.scripts.model_script import HEAD


def doubled(path, dims, **changes):
    """A model file y = x + x with an input of open dims, as a conversion with gears or ranges leaves it."""
    from npu.cost import Work

    tensors = [om.Tensor(n, "float32", tuple(dims), "NCHW" if len(dims) == 4 else "ND") for n in ("x", "y")]
    kernels = tuple(
        om.Kernel(f"add{n}", "Add", Work("vector", "Add", "float32", (64, 1), 256, 256)) for n in range(changes.pop("kernels", 1))
    )
    told = replace(om.Model("Ascend910B3", {"cann": "8.3.RC1"}, (tensors[0],), (tensors[1],), kernels), **changes)
    shape = [f"d{n}" if d < 0 else d for n, d in enumerate(dims)]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in ("x", "y")]
    proto = helper.make_model(
        helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "g", ends[:1], ends[1:]),
        ir_version=8,
        opset_imports=[helper.make_opsetid("", 13)],
    )
    for key, value in om.to_metadata(told).items():
        proto.metadata_props.add(key=key, value=value)
    onnx.checker.check_model(proto)
    path.write_bytes(om.seal(proto.SerializeToString()))
    return path


GEARS = """
m, ret = acl.mdl.load_from_file("gears.om")
d = described(m)
n = acl.mdl.get_num_inputs(d)
index, found = acl.mdl.get_input_index_by_name(d, "ascend_mbatch_shape_data")
sizes = [acl.mdl.get_input_size_by_index(d, k) for k in range(n)]
room = acl.mdl.get_output_size_by_index(d, 0)
memory = [acl.rt.malloc(s, 0)[0] for s in sizes]
o, _ = acl.rt.malloc(room, 0)
ins, outs = dataset(*zip(memory, sizes)), dataset((o, room))
print(ret, n, found, sizes, room, acl.mdl.get_input_dims(d, 0)[0]["dims"])
def run(shape):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    acl.rt.memcpy(memory[0], x.nbytes, x.ctypes.data, x.nbytes, 1)
    return acl.mdl.execute(m, ins, outs), np.array_equal(host(o, shape), x + x), acl.mdl.get_cur_output_dims(d, 0)[0]["dims"]
"""


def test_a_model_of_several_batch_sizes(start, tmp_path):
    doubled(tmp_path / "gears.om", (-1, 3), gears=tuple({"x": (b, 3)} for b in (1, 4, 8)))
    assert said(
        start,
        GEARS
        + """
print(acl.mdl.get_dynamic_batch(d), acl.mdl.get_dynamic_hw(d, -1)[0]["hwCount"], acl.mdl.execute(m, ins, outs))
print(
    acl.mdl.set_dynamic_batch_size(m, ins, index, 4),
    run((4, 3)),
    acl.mdl.set_dynamic_batch_size(m, ins, index, 8),
    run((8, 3)),
)
print(
    acl.mdl.set_dynamic_batch_size(m, ins, index, 5),
    acl.mdl.set_dynamic_batch_size(m, ins, 0, 4),
    acl.mdl.set_dynamic_hw_size(m, ins, index, 4, 4),
    acl.mdl.set_dynamic_batch_size(9, ins, index, 4),
)
""",
        head=HEAD,
    ) == [
        "0 2 0 [96, 4] 96 [-1, 3]",
        "({'batchCount': 3, 'batch': [1, 4, 8]}, 0) 0 507033",
        "0 (0, True, [4, 3]) 0 (0, True, [8, 3])",
        "145013 145013 145013 145003",
    ]


def test_a_model_of_several_picture_sizes(start, tmp_path):
    doubled(tmp_path / "gears.om", (1, 3, -1, -1), gears=({"x": (1, 3, 4, 4)}, {"x": (1, 3, 8, 6)}))
    assert said(
        start,
        GEARS
        + """
print(acl.mdl.get_dynamic_hw(d, -1), acl.mdl.get_dynamic_batch(d)[0]["batchCount"])
print(
    acl.mdl.set_dynamic_hw_size(m, ins, index, 8, 6),
    run((1, 3, 8, 6)),
    acl.mdl.set_dynamic_hw_size(m, ins, index, 6, 8),
    acl.mdl.set_dynamic_batch_size(m, ins, index, 1),
)
""",
        head=HEAD,
    ) == [
        "0 2 0 [576, 8] 576 [1, 3, -1, -1]",
        "({'hwCount': 2, 'hw': [[4, 4], [8, 6]]}, 0) 0",
        "0 (0, True, [1, 3, 8, 6]) 145013 145013",
    ]


def test_a_model_of_several_dims(start, tmp_path):
    doubled(tmp_path / "gears.om", (-1, -1), gears=({"x": (2, 3)}, {"x": (5, 7)}))
    assert said(
        start,
        GEARS
        + """
count, _ = acl.mdl.get_input_dynamic_gear_count(d, -1)
print(count, acl.mdl.get_input_dynamic_dims(d, -1, count))
print(
    acl.mdl.set_input_dynamic_dims(m, ins, index, {"dimCount": 2, "dims": [5, 7]}),
    run((5, 7)),
    acl.mdl.set_input_dynamic_dims(m, ins, index, {"dimCount": 2, "dims": [5, 6]}),
    acl.mdl.set_input_dynamic_dims(m, ins, index, {"dimCount": 3, "dims": [5, 7]}),
)
""",
        head=HEAD,
    ) == [
        "0 2 0 [140, 8] 140 [-1, -1]",
        "2 ([{'name': '', 'dimCount': 2, 'dims': [2, 3]}, {'name': '', 'dimCount': 2, 'dims': [5, 7]}], 0)",
        "0 (0, True, [5, 7]) 145013 100000",
    ]


def test_a_model_of_open_shapes_takes_them_from_tensor_descriptions(start, tmp_path):
    """Its outputs' shapes are told afterwards, and memory is made for an output that came without; kernels are launched one by
    one, which the host pays for."""
    doubled(tmp_path / "open.om", (-1, -1), dynamic=True, kernels=50)
    assert said(
        start,
        """
import time
m, _ = acl.mdl.load_from_file("open.om")
d = described(m)
x = np.arange(12, dtype=np.float32).reshape(3, 4)
i = dev(x)
o, _ = acl.rt.malloc(64, 0)
ins, outs, empty = dataset((i, 64)), dataset((o, 64)), dataset((0, 0))
print(
    acl.mdl.get_input_size_by_index(d, 0),
    acl.mdl.get_output_size_by_index(d, 0),
    acl.mdl.get_input_dims_range(d, 0)[0]["range"],
    acl.mdl.execute(m, ins, outs),
)
t = acl.create_tensor_desc(0, [3, 4], 2)
print(acl.mdl.set_dataset_tensor_desc(ins, t, 0) == (ins, 0), acl.mdl.set_dataset_tensor_desc(ins, t, 3)[1])
begun = time.perf_counter()
print(acl.mdl.execute(m, ins, outs), 0.9 < (time.perf_counter() - begun) * 1000 < 1.5, np.array_equal(host(o, (3, 4)), x + x))
r = acl.mdl.get_dataset_tensor_desc(outs, 0)
print(
    [acl.get_tensor_desc_dim(r, k) for k in range(acl.get_tensor_desc_num_dims(r))],
    acl.get_tensor_desc_size(r),
    acl.mdl.get_cur_output_dims(d, 0)[0]["dims"],
)
print(acl.mdl.execute(m, ins, empty))
b = acl.mdl.get_dataset_buffer(empty, 0)
p = acl.get_data_buffer_addr(b)
print(acl.get_data_buffer_size_v2(b), np.array_equal(host(p, (3, 4)), x + x), acl.rt.free(p))
""",
        head=HEAD,
    ) == ["0 0 [[1, -1], [1, -1]] 507033", "True 100000", "0 True True", "[3, 4] 48 [3, 4]", "0", "48 True 0"]
