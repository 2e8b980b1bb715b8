"""What public programs do that no page of documentation says: return shapes they unpack, texts they compare, orders they keep."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests import made_onnx
from tests.scripts.acl_script import said


@pytest.fixture
def doubled(tmp_path: Path) -> Path:
    """y = x + x for x of any first dimension."""
    nodes = [made_onnx.node("Add", "x x", "y")]
    made = made_onnx.model(nodes, "y", {}, {"x": ["n", 4]})
    return made_onnx.convert(made, tmp_path, input_shape="x:-1,4", **made_onnx.ORIGIN).path


def test_a_copy_from_the_device_may_start_in_page_locked_memory(start):
    """Memory demos look at their host buffer with the kind of a read-back; a target that had to be device memory stays wrong."""
    assert said(
        start,
        """
n = 64
h, _ = acl.rt.malloc_host(n)
acl.rt.memset(h, n, 7, n)
seen = np.ones(n, np.uint8)
print(acl.rt.memcpy(seen.ctypes.data, n, h, n, 2), seen.sum(), acl.rt.memcpy(h, n, h + 8, n - 8, 1))
other = np.ones(n, np.uint8)
print(acl.rt.memcpy(seen.ctypes.data, n, other.ctypes.data, n, 2) != 0)
""",
    ) == ["0 448 507018", "True"]


def test_starting_a_thread_wrongly_raises_the_interpreters_texts(start):
    assert said(
        start,
        """
for given in ((), ("", ""), (print,), (print, [], 1)):
    try:
        acl.util.start_thread(*given)
    except TypeError as error:
        print(error)
""",
    ) == [
        "function takes exactly 2 arguments (0 given)",
        "parameter must be callable",
        "function takes exactly 2 arguments (1 given)",
        "function takes exactly 2 arguments (3 given)",
    ]


def test_a_described_input_keeps_its_shape_when_the_description_goes(start, doubled):
    """The data set takes a copy; type and format of the description are the model's whatever it says."""
    assert (
        said(
            start,
            f"""
model, _ = acl.mdl.load_from_file({str(doubled)!r})
x = np.arange(12, dtype=np.float32).reshape(3, 4)
sets = []
for size in (64, 64):
    made = acl.mdl.create_dataset()
    acl.mdl.add_dataset_buffer(made, acl.create_data_buffer(acl.rt.malloc(size, 0)[0], size))
    sets.append(made)
for kind, form in ((-1, -1), (9, 2)):
    described = acl.create_tensor_desc(kind, [3, 4], form)
    print(acl.mdl.set_dataset_tensor_desc(sets[0], described, 0) == (sets[0], 0), acl.destroy_tensor_desc(described))
    at = [acl.get_data_buffer_addr(acl.mdl.get_dataset_buffer(s, 0)) for s in sets]
    acl.rt.memcpy(at[0], 64, acl.util.bytes_to_ptr(x.tobytes()), 48, 1)
    print(acl.mdl.execute(model, *sets))
    out = acl.mdl.get_dataset_tensor_desc(sets[1], 0)
    y = np.zeros((3, 4), np.float32)
    acl.rt.memcpy(y.ctypes.data, 48, at[1], 48, 2)
    print([acl.get_tensor_desc_dim_v2(out, d)[0] for d in range(acl.get_tensor_desc_num_dims(out))], (y == x + x).all())
""",
        )
        == ["True None", "0", "[3, 4] True"] * 2
    )


def test_gears_are_told_by_the_option_they_came_from(start, tmp_path):
    """Inputs whose first dims alone are open may still have been converted with --dynamic_dims."""
    nodes = [made_onnx.node("Mul", "v u", "y")]
    made = made_onnx.model(nodes, "y", {}, {"v": ["n", 4], "u": ["n", 1]})
    path = made_onnx.convert(
        made, tmp_path, input_shape="v:-1,4;u:-1,1", input_format="ND", dynamic_dims="10,10;20,20", **made_onnx.ORIGIN
    ).path
    assert said(
        start,
        f"""
model, _ = acl.mdl.load_from_file({str(path)!r})
d = acl.mdl.create_desc(); acl.mdl.get_desc(d, model)
count, ret = acl.mdl.get_input_dynamic_gear_count(d, -1)
print(count, [g["dims"] for g in acl.mdl.get_input_dynamic_dims(d, -1, count)[0]])
print(acl.mdl.get_dynamic_batch(d), acl.mdl.get_dynamic_hw(d, -1))
""",
    ) == ["2 [[10, 4, 10, 1], [20, 4, 20, 1]]", "({'batchCount': 0, 'batch': []}, 0) ({'hwCount': 0, 'hw': []}, 0)"]


@pytest.mark.parametrize(
    ("flags", "shape", "missing"),
    [
        ({}, "n", "no description (acl.mdl.set_dataset_tensor_desc)"),
        (
            {"dynamic_batch_size": "1,2"},
            "N",
            "no choice (acl.mdl.set_dynamic_batch_size, set_dynamic_hw_size, set_input_dynamic_dims)",
        ),
    ],
)
def test_an_open_shape_that_nobody_told_is_refused(start, tmp_path, flags, shape, missing):
    """Public programs leave it to the sizes of the buffers; the runtime wants to be told."""
    made = made_onnx.model([made_onnx.node("Add", "v v", "y")], "y", {}, {"v": [shape, 4]})
    path = made_onnx.convert(made, tmp_path, input_shape="v:-1,4", **flags, **made_onnx.ORIGIN).path
    (line,) = said(
        start,
        f"""
model, _ = acl.mdl.load_from_file({str(path)!r})
desc = acl.mdl.create_desc(); acl.mdl.get_desc(desc, model)
sets = []
for count in (acl.mdl.get_num_inputs(desc), 1):
    sets.append(acl.mdl.create_dataset())
    for _ in range(count):
        acl.mdl.add_dataset_buffer(sets[-1], acl.create_data_buffer(acl.rt.malloc(32, 0)[0], 32))
print(acl.mdl.execute(model, *sets), acl.get_recent_err_msg().rpartition(": Model ")[2])
""",
    )
    assert line == f"507033 input does not fit (open shape of v): (-1, 4) wanted, {missing} given."


@pytest.mark.slow
def test_a_model_takes_float16_where_the_converter_was_told_so(start, tmp_path):
    """Classifiers of the samples are converted with --input_fp16_nodes and fed half as many bytes."""
    nodes = [made_onnx.node("Mul", "x k", "y")]
    made = made_onnx.model(nodes, "y", {"k": np.full(1, 2, np.float32)}, {"x": [1, 6]})
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    words = ("--framework=5", "--model=m.onnx", "--output=m", "--soc_version=Ascend910B3")
    assert "E10016" in start("atc", *words, "--input_fp16_nodes=z").out
    assert start("atc", *words, "--input_fp16_nodes=x").code == 0
    assert said(
        start,
        """
model, _ = acl.mdl.load_from_file("m.om")
d = acl.mdl.create_desc(); acl.mdl.get_desc(d, model)
print(acl.mdl.get_input_data_type(d, 0), acl.mdl.get_input_size_by_index(d, 0), acl.mdl.get_output_data_type(d, 0))
x = np.arange(6, dtype=np.float16)
sets, at = [], []
for size in (12, 24):
    at.append(acl.rt.malloc(size, 0)[0]); sets.append(acl.mdl.create_dataset())
    acl.mdl.add_dataset_buffer(sets[-1], acl.create_data_buffer(at[-1], size))
y = np.zeros(6, np.float32)
print(acl.rt.memcpy(at[0], 12, x.ctypes.data, 12, 1), acl.mdl.execute(model, *sets), acl.rt.memcpy(y.ctypes.data, 24, at[1], 24, 2), y)
""",
    ) == ["1 12 0", "0 0 0 [ 0.  2.  4.  6.  8. 10.]"]


def test_the_second_media_interface_answers_in_its_shapes(start):
    """Struct results are dicts, jobs give a task number; every call of the binding is there and says that it is not simulated."""
    assert said(
        start,
        """
H = acl.himpi
print(H.sys_init(), H.dvpp_malloc(0, 640), H.dvpp_get_version())
print(H.vdec_create_chn(0, {}), H.vdec_get_chn_param(0), H.vdec_get_frame(0, 1000))
pic = {}
print(H.vpc_resize(0, pic, pic, 0, 0, 0, -1), H.vpc_crop(0, pic, [], 1, -1), H.vpc_get_process_result(0, 0, -1), H.vpc_sys_create_chn({}))
print(H.sys_wait_epoll(0, 3, 1000), H.sys_get_image_align_info([], 0, {}), H.vdec_get_pic_buf_size(0, {}))
print(len([n for n in dir(H) if not n.startswith("_")]), "acl.himpi.vdec_get_pic_buf_size" in acl.get_recent_err_msg())
try:
    H.vpc_create_chn(0, None)
except TypeError as error:
    print(error)
""",
    ) == [
        "207000 (0, 207000) (0, 0, 0, 207000)",
        "207000 ({}, 207000) ({}, {}, {}, 207000)",
        "(0, 207000) (0, 207000) 207000 (0, 207000)",
        "([], 0, 207000) ({}, 207000) 0",
        "130 True",
        "acl.himpi.vpc_create_chn args parse failed",
    ]
