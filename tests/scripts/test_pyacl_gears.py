"""Models of several fixed shapes and of open shapes, from atc to the results a script reads back."""

import numpy as np
import pytest

from tests.made_onnx import ORIGIN, conv_bn, convert, model, node, weights

SCRIPT = """
    import sys
    import acl, numpy as np

    H2D, D2H = 1, 2
    acl.init(); acl.rt.set_device(0)
    model, code = acl.mdl.load_from_file(sys.argv[1]); assert code == 0, code
    desc = acl.mdl.create_desc(); acl.mdl.get_desc(desc, model)
    count = acl.mdl.get_num_inputs(desc)
    print("inputs", count, [acl.mdl.get_input_name_by_index(desc, i) for i in range(count)])
    print("largest", acl.mdl.get_output_dims(desc, 0)[0]["dims"], acl.mdl.get_cur_output_dims(desc, 0)[0]["dims"])

    def dataset(sizes):
        made = acl.mdl.create_dataset()
        for size in sizes:
            pointer, _ = acl.rt.malloc(size, 0)
            acl.mdl.add_dataset_buffer(made, acl.create_data_buffer(pointer, size))
        return made

    inputs = dataset([acl.mdl.get_input_size_by_index(desc, i) for i in range(acl.mdl.get_num_inputs(desc))])
    outputs = dataset([acl.mdl.get_output_size_by_index(desc, 0)])
    source = acl.get_data_buffer_addr(acl.mdl.get_dataset_buffer(inputs, 0))
    result = acl.get_data_buffer_addr(acl.mdl.get_dataset_buffer(outputs, 0))
    index, _ = acl.mdl.get_input_index_by_name(desc, "ascend_mbatch_shape_data")
    for word in sys.argv[2:]:
        shape = [int(v) for v in word.split(",")]
        code = CHOOSE
        print("choose", shape, code)
        if code:
            continue
        data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 100
        acl.rt.memcpy(source, data.nbytes, acl.util.bytes_to_ptr(data.tobytes()), data.nbytes, H2D)
        first, _ = acl.rt.create_event(); last, _ = acl.rt.create_event(); stream, _ = acl.rt.create_stream()
        acl.rt.record_event(first, stream)
        print("execute", acl.mdl.execute_async(model, inputs, outputs, stream))
        acl.rt.record_event(last, stream)
        print("done", acl.rt.synchronize_stream(stream))
        print("us", round(acl.rt.event_elapsed_time(first, last)[0] * 1000))
        host, _ = acl.rt.malloc_host(4096 * 64)
        size = shape[0] * 4 * shape[2] * shape[3] * 4
        acl.rt.memcpy(host, size, result, size, D2H)
        print("sum", float(np.frombuffer(acl.util.ptr_to_bytes(host, size), np.float32).sum()))
    acl.finalize()
"""

CASES = {
    "batch": (
        {"dynamic_batch_size": "1,4"},
        "x:-1,3,8,8",
        "acl.mdl.set_dynamic_batch_size(model, inputs, index, shape[0])",
        ["1,3,8,8", "4,3,8,8"],
        "3,3,8,8",
    ),
    "image": (
        {"dynamic_image_size": "8,8;16,24"},
        "x:1,3,-1,-1",
        "acl.mdl.set_dynamic_hw_size(model, inputs, index, shape[2], shape[3])",
        ["1,3,8,8", "1,3,16,24"],
        "1,3,8,24",
    ),
    "dims": (
        {"dynamic_dims": "1,8;2,16"},
        "x:-1,3,-1,8",
        'acl.mdl.set_input_dynamic_dims(model, inputs, index, {"dimCount": 4, "dims": shape, "name": ""})',
        ["1,3,8,8", "2,3,16,8"],
        "2,3,8,8",
    ),
}


WRITTEN = """
    import sys
    import acl, numpy as np

    acl.init(); acl.rt.set_device(0)
    model, _ = acl.mdl.load_from_file(sys.argv[1])
    desc = acl.mdl.create_desc(); acl.mdl.get_desc(desc, model)
    index, _ = acl.mdl.get_input_index_by_name(desc, "ascend_mbatch_shape_data")

    def dataset(memory):
        made = acl.mdl.create_dataset()
        for pointer, size in memory:
            acl.mdl.add_dataset_buffer(made, acl.create_data_buffer(pointer, size))
        return made

    sizes = [acl.mdl.get_input_size_by_index(desc, 0), WIDTH]
    memory = [(acl.rt.malloc(size, 0)[0], size) for size in sizes]
    size = acl.mdl.get_output_size_by_index(desc, 0)
    result = acl.rt.malloc(size, 0)[0]
    outputs = dataset([(result, size)])
    host = np.zeros(size // 4, np.float32)
    for batch in (4, 1, 3):
        data = np.full((batch, 3, 8, 8), 0.01, np.float32)
        acl.rt.memcpy(memory[0][0], data.nbytes, data.ctypes.data, data.nbytes, 1)
        number = np.array([batch], np.KIND)
        acl.rt.memcpy(memory[1][0], number.nbytes, number.ctypes.data, number.nbytes, 1)
        acl.rt.memset(result, size, 0, size)
        print(batch, acl.mdl.execute(model, dataset(memory), outputs))
        acl.rt.memcpy(host.ctypes.data, size, result, size, 2)
        print(int(np.count_nonzero(host)))
    again = dataset(memory)
    print("set", acl.mdl.set_dynamic_batch_size(model, again, index, 1))
    print("used again", acl.mdl.execute(model, dataset(memory), outputs))
"""


@pytest.mark.parametrize(("width", "kind"), [(4, "int32"), (8, "int64")])
def test_a_choice_may_be_written_where_the_device_finds_it(start, tmp_path, width, kind):
    proto = model([*conv_bn(), node("Sigmoid", "n", "y")], "y", weights(), {"x": ["N", 3, 8, 8]})
    path = convert(proto, tmp_path, input_shape="x:-1,3,8,8", dynamic_batch_size="1,4", **ORIGIN).path
    ran = start("python", "-m", "npu", "script.py", str(path), script=WRITTEN.replace("WIDTH", str(width)).replace("KIND", kind))
    one = 4 * 8 * 8  # values of one sample; 3 is no gear, so nothing ran
    assert ran.out.split() == ["4", "0", str(4 * one), "1", "0", str(one), "3", "507033", "0", "set", "0", "used", "again", "0"], ran.err


@pytest.mark.parametrize("case", CASES)
def test_a_gear_is_chosen_run_and_right(start, tmp_path, case):
    flags, shapes, choose, good, bad = CASES[case]
    proto = model([*conv_bn(), node("Relu", "n", "y")], "y", weights(), {"x": ["N", 3, "H", "W"]})
    summary = convert(proto, tmp_path, input_shape=shapes, **flags, **ORIGIN)
    assert len(summary.model.gear_kernels) == len(summary.model.gears) == 2 and not summary.model.dynamic
    ran = start("python", "-m", "npu", "script.py", str(summary.path), *good, bad, script=SCRIPT.replace("CHOOSE", choose))
    assert ran.code == 0, ran.out + ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "inputs 2 ['x', 'ascend_mbatch_shape_data']"
    from tests.made_onnx import expected

    largest = [int(v) for v in good[-1].split(",")]
    largest[1] = 4  # the channels the convolution makes
    assert lines[1] == f"largest {largest} {largest}"  # before a choice both tell the largest gear
    for number, word in enumerate(good):
        shape = [int(v) for v in word.split(",")]
        data = (np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 100).astype(np.float32)
        at = 2 + 5 * number
        assert lines[at].endswith(" 0") and lines[at + 1] == "execute 0" and lines[at + 2] == "done 0"
        assert float(lines[at + 4].split()[1]) == pytest.approx(float(expected(proto, {"x": data})[0].sum()), rel=1e-4)
    assert lines[-1].startswith("choose") and not lines[-1].endswith(" 0")


def test_kernels_of_a_gear_carry_its_number(tmp_path):
    proto = model([*conv_bn(), node("Relu", "n", "y")], "y", weights(), {"x": ["N", 3, 8, 8]})
    made = convert(proto, tmp_path, input_shape="x:-1,3,8,8", dynamic_batch_size="1,4", **ORIGIN).model
    small, large = made.gear_kernels
    assert [k.name for k in small][1] == "Conv_cRelu_y_ascend_mbatch_batch_0"
    assert large[1].work.dims[0] == 4 * small[1].work.dims[0]
    assert made.inputs[0].dims == (-1, 3, 8, 8) and made.outputs[0].dims[0] == -1


def test_an_open_shape_is_planned_by_a_sample_of_its_range(tmp_path):
    proto = model([*conv_bn(), node("Relu", "n", "y")], "y", weights(), {"x": ["N", 3, 8, 8]})
    made = convert(proto, tmp_path, input_shape="x:1~16,3,8,8", **ORIGIN).model
    assert made.dynamic and made.planned == {"x": (16, 3, 8, 8)} and made.kernels[1].work.dims[0] == 16
