"""acl.mdl: loading in all forms, descriptions, data sets, time-outs, AIPP settings, dump order."""

from __future__ import annotations

import numpy as np
import pytest

from tests import made_onnx
from tests.scripts.acl_script import said
from tests.scripts.model_script import HEAD


@pytest.fixture
def product(tmp_path):
    """y[4, 8] = x[4, 8] v w, float32."""
    rng = np.random.default_rng(1)
    nodes = [made_onnx.node("MatMul", "x v", "h"), made_onnx.node("MatMul", "h w", "y")]
    weights = {n: rng.standard_normal((8, 8)).astype(np.float32) for n in "vw"}
    np.savez(tmp_path / "weights.npz", **weights)
    return made_onnx.convert(made_onnx.model(nodes, "y", weights, {"x": [4, 8]}), tmp_path, **made_onnx.ORIGIN).path


def test_every_way_of_loading_gives_the_same_results(start, product):
    assert said(
        start,
        f"""
path = {str(product)!r}
data = open(path, "rb").read()
w = np.load("weights.npz")
x = np.random.default_rng(2).standard_normal((4, 8)).astype(np.float32)
p = acl.util.bytes_to_ptr(data)
work, weight, ret = acl.mdl.query_size(path)
print(
    ret, acl.mdl.query_size_from_mem(p, len(data)) == (work, weight, 0), weight
)  # two matrices of 256 bytes, each in blocks of 512
area, _ = acl.rt.malloc(max(work, 32), 0)
kept, _ = acl.rt.malloc(max(weight, 32), 0)
config = acl.mdl.create_config_handle()
memory = acl.mdl.create_config_handle()
print(
    acl.mdl.load_with_config(config)[1],
    acl.mdl.set_config_opt(config, 1, 1),
    acl.mdl.load_with_config(config)[1],
    acl.mdl.set_config_opt(config, 2, path),
    acl.mdl.set_config_opt(config, 0, 3),
    acl.mdl.set_config_opt(config, 0, 9),
    acl.mdl.set_config_opt(config, 99, 0),
    acl.mdl.set_config_opt(config, 10, 0),
)
for option, value in ((1, 3), (3, p), (4, len(data))):
    acl.mdl.set_config_opt(memory, option, value)
ids = [
    acl.mdl.load_from_file(path),
    acl.mdl.load_from_mem(p, len(data)),
    acl.mdl.load_from_file_with_mem(path, area, work, kept, weight),
    acl.mdl.load_from_mem_with_mem(p, len(data), area, work, kept, weight),
    acl.mdl.load_with_config(config),
    acl.mdl.load_with_config(memory),
]
wanted = x @ w["v"] @ w["w"]
i, o = dev(x), dev(np.zeros_like(x))
ins, outs = dataset((i, 128)), dataset((o, 128))
for m, ret in ids:
    acl.rt.memset(o, 128, 0, 128)
    print(ret, acl.mdl.execute(m, ins, outs), np.allclose(host(o, (4, 8)), wanted, rtol=1e-4), acl.mdl.unload(m), end=" ")
print(
    acl.mdl.execute(ids[0][0], ins, outs),
    acl.mdl.load_from_file_with_mem(path, 0, 0, kept, 8)[1],
    acl.mdl.load_from_file("none.om")[1],
    acl.mdl.load_from_mem(0, 0)[1],
)
print(acl.mdl.destroy_config_handle(config), acl.mdl.destroy_config_handle(config))
try:
    acl.mdl.set_config_opt(memory, 2, 5)
except TypeError as error:
    print(error)
""",
        head=HEAD,
    ) == [
        "0 True 1024",
        "100000 0 100000 0 0 100000 100000 207000",
        "0 0 True 0 " * 6 + "145003 145000 145002 100000",
        "0 107017",
        "acl.mdl.set_config_opt args parse failed",
    ]


def test_a_repeated_run_sees_what_has_changed_in_its_data_sets(start, product):
    """Checked data sets are remembered: a buffer that moves, shrinks, is freed, added or destroyed is noticed all the same."""
    assert said(
        start,
        f"""
m, _ = acl.mdl.load_from_file({str(product)!r})
x = np.eye(8, dtype=np.float32)[:4]
a, b, o = dev(x), dev(x * 2), dev(x * 0)
ins, outs = dataset((a, 128)), dataset((o, 128))
buffer = acl.mdl.get_dataset_buffer(ins, 0)
first = (acl.mdl.execute(m, ins, outs), host(o, (4, 8)))[1]
acl.update_data_buffer(buffer, b, 128)
print(
    acl.mdl.execute(m, ins, outs),
    np.allclose(host(o, (4, 8)), first * 2, rtol=1e-5),
    acl.update_data_buffer(buffer, b, 32),
    acl.mdl.execute(m, ins, outs),
)
acl.update_data_buffer(buffer, a, 128)
print(acl.mdl.execute(m, ins, outs), acl.rt.free(a), acl.mdl.execute(m, ins, outs))
acl.update_data_buffer(buffer, b, 128)
more = dataset((o, 128))
print(
    acl.mdl.execute(m, ins, more),
    acl.mdl.add_dataset_buffer(more, acl.create_data_buffer(o, 128))[1],
    acl.mdl.execute(m, ins, more),
)
print(acl.mdl.execute(m, ins, outs), acl.destroy_data_buffer(buffer), acl.mdl.execute(m, ins, outs))
print(
    acl.mdl.execute(m, outs, outs), acl.mdl.destroy_dataset(outs), acl.mdl.execute(m, ins, outs), acl.mdl.execute(m, ins, 0)
)
""",
        head=HEAD,
    ) == ["0 True 0 507033", "0 0 507018", "0 0 507033", "0 0 100000", "0 0 100000 100000"]


def test_descriptions_tell_the_same_from_model_file_and_memory(start, product):
    assert said(
        start,
        f"""
path = {str(product)!r}
m, _ = acl.mdl.load_from_file(path)
d = described(m)
data = open(path, "rb").read()
f, g = acl.mdl.create_desc(), acl.mdl.create_desc()
print(
    acl.mdl.get_desc_from_file(f, path),
    acl.mdl.get_desc_from_mem(g, acl.util.bytes_to_ptr(data), len(data)),
    acl.mdl.get_num_inputs(acl.mdl.create_desc()),
)
for one in (d, f, g):
    print(
        acl.mdl.get_num_inputs(one),
        acl.mdl.get_input_dims(one, 0),
        acl.mdl.get_output_dims(one, 0)[0]["dims"],
        acl.mdl.get_input_size_by_index(one, 0),
        acl.mdl.get_output_name_by_index(one, 0),
    )
print(
    acl.mdl.get_input_dims_v2(d, 0)[0]["dims"],
    acl.mdl.get_input_dims_range(d, 0),
    acl.mdl.get_cur_output_dims(d, 0)[0]["dims"],
    acl.mdl.get_input_dims(d, 7),
)
print(
    acl.mdl.get_input_index_by_name(d, "x"),
    acl.mdl.get_output_index_by_name(d, "q"),
    acl.mdl.get_tensor_real_name(d, "y"),
    repr(acl.mdl.get_tensor_real_name(d, "q")),
)
print(
    acl.mdl.get_op_attr(d, "MatMul_h", "_datadump_original_op_names"),
    repr(acl.mdl.get_op_attr(d, "MatMul_h", "other")),
    repr(acl.mdl.get_op_attr(d, "none", "_datadump_original_op_names")),
)
print(
    acl.mdl.get_dynamic_batch(d),
    acl.mdl.get_dynamic_hw(d, -1),
    acl.mdl.get_input_dynamic_gear_count(d, -1),
    acl.mdl.get_input_dynamic_dims(d, -1, 0),
)
""",
        head=HEAD,
    ) == [
        "0 0 0",
        *["1 ({'name': 'x', 'dimCount': 2, 'dims': [4, 8]}, 0) [4, 8] 128 y"] * 3,
        "[4, 8] ({'rangeCount': 2, 'range': [[4, 4], [8, 8]]}, 0) [4, 8] ({}, 100000)",
        "(0, 0) (0, 100000) y ''",
        "[8]MatMul_h '' ''",
        "({'batchCount': 0, 'batch': []}, 0) ({'hwCount': 0, 'hw': []}, 0) (0, 0) ([], 0)",
    ]


def test_a_run_with_options_can_time_out(start, product):
    assert said(
        start,
        f"""
m, _ = acl.mdl.load_from_file({str(product)!r})
x = np.ones((4, 8), np.float32)
ins, outs = dataset((dev(x), 128)), dataset((dev(x), 128))
s, _ = acl.rt.create_stream()
e, _ = acl.rt.create_event()
c = acl.mdl.create_exec_config_handle()
print(
    acl.mdl.set_exec_config_opt(c, 0, 20),
    acl.mdl.set_exec_config_opt(c, 77, 1),
    acl.mdl.execute_v2(m, ins, outs, s, c),
    acl.mdl.execute_async(m, ins, outs, s),
    acl.rt.stream_query(s),
    acl.rt.synchronize_stream(s),
)
acl.rt.stream_wait_event(s, e)
print(acl.mdl.execute_v2(m, ins, outs, s, c), acl.mdl.execute_v2(m, ins, outs, s, 0), acl.mdl.destroy_exec_config_handle(c))
""",
        head=HEAD,
    ) == ["0 100000 0 0 (1, 0) 0", "507046 100000 0"]


def test_preprocessing_settings_are_checked_and_find_no_input(start, product):
    assert said(
        start,
        f"""
m, _ = acl.mdl.load_from_file({str(product)!r})
a = acl.mdl.create_aipp(2)
ins = dataset((dev(np.ones((4, 8), np.float32)), 128))
print(
    a > 0,
    acl.mdl.create_aipp(0),
    acl.mdl.set_aipp_input_format(a, 1),
    acl.mdl.set_aipp_input_format(a, 99),
    acl.mdl.set_aipp_src_image_size(a, 416, 416),
    acl.mdl.set_aipp_src_image_size(a, 415, 416),
)
print(
    acl.mdl.set_aipp_csc_params(a, 1, *range(9), 0, 0, 0, 16, 128, 128),
    acl.mdl.set_aipp_csc_params(a, 2, *range(9), 0, 0, 0, 16, 128, 128),
    acl.mdl.set_aipp_crop_params(a, 1, 0, 0, 8, 8, 0),
    acl.mdl.set_aipp_crop_params(a, 1, 0, 0, 8, 8, 2),
    acl.mdl.set_aipp_padding_params(a, 0, 0, 0, 0, 0, 1),
    acl.mdl.set_aipp_dtc_pixel_mean(a, 1, 2, 3, 0, 0),
    acl.mdl.set_aipp_dtc_pixel_min(a, 1.0, 2.0, 3.0, 0.0, 0),
    acl.mdl.set_aipp_pixel_var_reci(a, 1.0, 1.0, 1.0, 1.0, 0),
    acl.mdl.set_aipp_rbuv_swap_switch(a, 1),
    acl.mdl.set_aipp_ax_swap_switch(a, 3),
)
print(
    acl.mdl.set_input_aipp(m, ins, 0, a),
    acl.mdl.set_aipp_by_input_index(m, ins, 5, a),
    acl.mdl.get_aipp_type(m, 0),
    acl.mdl.get_aipp_type(m, 4)[2],
    acl.mdl.get_first_aipp_info(m, 0),
    acl.mdl.destroy_aipp(a),
)
""",
        head=HEAD,
    ) == [
        "True 0 0 100000 0 100000",
        "0 100000 0 100000 0 0 0 0 0 100000",
        "145015 100000 (0, 4294967295, 0) 100000 (None, 145015) 0",
    ]


def test_dump_calls_have_an_order(start):
    assert said(
        start,
        """
open("dump.json", "w").write('{"dump": {"dump_path": "."}}')
open("other.json", "w").write("{}")
print(
    acl.mdl.finalize_dump(),
    acl.mdl.set_dump("dump.json"),
    acl.mdl.init_dump(),
    acl.mdl.init_dump(),
    acl.mdl.set_dump("none.json"),
    acl.mdl.set_dump("other.json"),
    acl.mdl.set_dump("dump.json"),
    acl.mdl.finalize_dump(),
    acl.mdl.finalize_dump(),
    acl.mdl.dump_unreg_callback(),
)
""",
        head=HEAD,
    ) == ["100045 100045 0 100044 100003 100006 0 0 100045 None"]
