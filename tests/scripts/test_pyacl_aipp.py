"""acl.mdl with preprocessing in the model: what a script sees of static AIPP, and settings of dynamic AIPP from run to run."""

import numpy as np
import pytest

from tests import made_onnx
from tests.scripts.acl_script import said
from tests.scripts.model_script import HEAD

pytestmark = pytest.mark.slow  # many starts of programs


def converted(folder, text, dims):
    file = folder / "aipp.cfg"
    file.write_text(text)
    made = made_onnx.model([made_onnx.node("Relu", "x", "y")], "y", {}, {"x": dims})
    return made_onnx.convert(made, folder, insert_op_conf=str(file)).path


@pytest.fixture
def static(tmp_path):
    """A gray value of each pixel less 100, halved: from NV12 pictures of 8 x 4 the left half."""
    text = """aipp_op { aipp_mode: static input_format: YUV420SP_U8 src_image_size_w: 8 src_image_size_h: 4 crop: true
              mean_chn_0: 100 var_reci_chn_0: 0.5 }"""
    return converted(tmp_path, text, [1, 3, 4, 4])


@pytest.fixture
def dynamic(tmp_path):
    return converted(tmp_path, "aipp_op { aipp_mode: dynamic max_src_image_size: 256 }", [2, 3, 2, 2])


def test_a_static_model_describes_pictures_and_takes_them(start, static):
    picture = np.arange(48, dtype=np.uint8) * 5
    luma = picture[:32].reshape(4, 8)[:, :4].astype(np.float32)
    assert said(
        start,
        f"""
m, _ = acl.mdl.load_from_file({str(static)!r})
d = acl.mdl.create_desc(); acl.mdl.get_desc(d, m)
print(acl.mdl.get_num_inputs(d), acl.mdl.get_input_size_by_index(d, 0), acl.mdl.get_input_data_type(d, 0), acl.mdl.get_input_format(d, 0))
print(acl.mdl.get_input_dims(d, 0)[0]["dims"], acl.mdl.get_input_dims_v2(d, 0)[0]["dims"])
print(acl.mdl.get_aipp_type(m, 0), acl.mdl.get_aipp_type(m, 1)[2])
info, code = acl.mdl.get_first_aipp_info(m, 0)
print(code, info["inputFormat"], info["srcImageSizeW"], info["srcImageSizeH"], info["cropSwitch"], info["cropSizeW"], info["meanChn0"],
      info["varReciChn0"], info["cscSwitch"], info["outDims"][0]["srcSize"], info["outDims"][0]["aippOutdims"]["dims"])
picture = np.arange(48, dtype=np.uint8) * 5
out = dev(np.zeros(48, np.float32))
ins, outs = dataset((dev(picture), 48)), dataset((out, 192))
a = acl.mdl.create_aipp(1)
print(acl.mdl.set_aipp_by_input_index(m, ins, 0, a), acl.mdl.execute(m, ins, outs))
print(host(out, (48,))[:16].tolist())
""",
        head=HEAD,
    ) == [
        "1 48 4 1",
        "[1, 4, 8, 3] [1, 3, 4, 4]",
        "(1, 4294967295, 0) 100000",
        "0 1 8 4 1 4 100 0.5 0 48 [1, 3, 4, 4]",
        "145015 0",
        str(np.maximum((luma - 100) * 0.5, 0).ravel().tolist()),
    ]


def test_a_dynamic_model_takes_its_settings_at_run_time(start, dynamic):
    """Two pictures of 4 x 2 pixels; each has its own crop; without settings a run fails."""
    rgb = np.arange(48, dtype=np.uint8).reshape(2, 2, 4, 3)
    first, second = rgb[0, :, :2], rgb[1, :, 2:]
    wanted = np.concatenate([p.transpose(2, 0, 1).ravel() for p in (first[:, :, ::-1], second[:, :, ::-1])]).astype(float)
    assert said(
        start,
        f"""
m, _ = acl.mdl.load_from_file({str(dynamic)!r})
d = acl.mdl.create_desc(); acl.mdl.get_desc(d, m)
print([acl.mdl.get_input_name_by_index(d, i) for i in range(acl.mdl.get_num_inputs(d))])
index, _ = acl.mdl.get_input_index_by_name(d, "ascend_dynamic_aipp_data")
size = acl.mdl.get_input_size_by_index(d, index)
print(index, size == acl.mdl.get_aipp_data_size(2)[0], acl.mdl.get_input_size_by_index(d, 0), acl.mdl.get_input_dims(d, 0)[0]["dims"])
print(acl.mdl.get_aipp_type(m, 0), acl.mdl.get_aipp_type(m, 1), acl.mdl.get_first_aipp_info(m, 0)[0]["outDims"][0]["srcSize"])
out = dev(np.zeros(24, np.float32))
ins = dataset((dev(np.arange(48, dtype=np.uint8)), 48), (dev(np.zeros(size, np.uint8)), size))
outs = dataset((out, 96))
print(acl.mdl.execute(m, ins, outs))
a = acl.mdl.create_aipp(2)
acl.mdl.set_aipp_input_format(a, 3)
acl.mdl.set_aipp_src_image_size(a, 4, 2)
print(acl.mdl.set_input_aipp(m, ins, index, a))
acl.mdl.set_aipp_rbuv_swap_switch(a, 1)
for batch in range(2):
    acl.mdl.set_aipp_crop_params(a, 1, 2 * batch, 0, 2, 2, batch)
print(acl.mdl.set_input_aipp(m, ins, 0, a), acl.mdl.set_input_aipp(m, ins, index, a), acl.mdl.set_aipp_by_input_index(m, ins, 0, a))
print(acl.mdl.execute(m, ins, outs), host(out, (24,)).tolist())
for batch in range(2):
    acl.mdl.set_aipp_dtc_pixel_mean(a, 1, 1, 1, 0, batch)
    acl.mdl.set_aipp_pixel_var_reci(a, 2.0, 2.0, 2.0, 1.0, batch)
acl.mdl.set_input_aipp(m, ins, index, a)
print(acl.mdl.execute(m, ins, outs), host(out, (24,)).tolist())
one = acl.mdl.create_aipp(1)
print(acl.mdl.set_input_aipp(m, ins, index, one))
""",
        head=HEAD,
    ) == [
        "['x', 'ascend_dynamic_aipp_data']",
        "1 True 256 [1, 256]",
        "(2, 1, 0) (3, 4294967295, 0) 256",
        "145015",
        "100000",
        "145015 0 0",
        f"0 {wanted.tolist()}",
        f"0 {np.maximum((wanted - 1) * 2, 0).tolist()}",
        "100000",
    ]


def run_of_gears(start, path, choose, batch, size, pictures, elements):
    """What a script sees that sets dynamic preprocessing with `size` for `batch` pictures and chooses one of several shapes."""
    return said(
        start,
        f"""
m, _ = acl.mdl.load_from_file({str(path)!r})
d = acl.mdl.create_desc(); acl.mdl.get_desc(d, m)
print([acl.mdl.get_input_name_by_index(d, i) for i in range(acl.mdl.get_num_inputs(d))])
gear, aipp = (acl.mdl.get_input_index_by_name(d, n)[0] for n in ("ascend_mbatch_shape_data", "ascend_dynamic_aipp_data"))
print(acl.mdl.get_input_size_by_index(d, 0), acl.mdl.get_input_dims(d, 0)[0]["dims"], acl.mdl.get_output_size_by_index(d, 0))
print(acl.mdl.get_input_size_by_index(d, aipp) == acl.mdl.get_aipp_data_size({batch})[0])
sizes = [acl.mdl.get_input_size_by_index(d, i) for i in range(3)]
pictures = np.arange({pictures}, dtype=np.uint8)
out = dev(np.zeros({elements}, np.float32))
ins = dataset((dev(pictures), {pictures}), (dev(np.zeros(sizes[1], np.uint8)), sizes[1]), (dev(np.zeros(sizes[2], np.uint8)), sizes[2]))
outs = dataset((out, {elements} * 4))
a = acl.mdl.create_aipp({batch})
acl.mdl.set_aipp_input_format(a, 3)
acl.mdl.set_aipp_src_image_size(a, *{size})
print({choose}, acl.mdl.set_input_aipp(m, ins, aipp, a))
print(acl.mdl.execute(m, ins, outs), host(out, ({elements},)).tolist())
""",
        head=HEAD,
    )


def converted_with_gears(folder, gears, shape):
    file = folder / "aipp.cfg"
    file.write_text("aipp_op { aipp_mode: dynamic max_src_image_size: 64 }")
    made = made_onnx.model([made_onnx.node("Relu", "x", "y")], "y", {}, {"x": [f"d{n}" if d < 0 else d for n, d in enumerate(shape)]})
    return made_onnx.convert(made, folder, insert_op_conf=str(file), input_shape=f"x:{','.join(map(str, shape))}", **gears).path


def test_dynamic_settings_and_batches(start, tmp_path):
    """Settings are for the largest batch, two; the batch chosen is one, so only the first picture is read."""
    path = converted_with_gears(tmp_path, {"dynamic_batch_size": "1,2"}, (-1, 3, 2, 2))
    first = np.arange(12).reshape(2, 2, 3).transpose(2, 0, 1).ravel().astype(float)
    assert run_of_gears(start, path, "acl.mdl.set_dynamic_batch_size(m, ins, gear, 1)", 2, (2, 2), 12, 12) == [
        "['x', 'ascend_dynamic_aipp_data', 'ascend_mbatch_shape_data']",
        "64 [-1, 3, 2, 2] 96",
        "True",
        "0 0",
        f"0 {first.tolist()}",
    ]


@pytest.mark.parametrize("width, code", [(4, 0), (2, 145015)])
def test_dynamic_settings_and_sizes(start, tmp_path, width, code):
    """The model takes 2 x 2 or 2 x 4 pixels; settings for other pixels than those chosen fail when the model runs."""
    path = converted_with_gears(tmp_path, {"dynamic_image_size": "2,2;2,4"}, (1, 3, -1, -1))
    found = run_of_gears(start, path, "acl.mdl.set_dynamic_hw_size(m, ins, gear, 2, 4)", 1, (width, 2), 24, 24)
    assert found[1:4] == ["64 [1, 3, -1, -1] 96", "True", "0 0"]
    wanted = np.arange(24).reshape(2, 4, 3).transpose(2, 0, 1).ravel().astype(float) if code == 0 else np.zeros(24)
    assert found[4] == f"{code} {wanted.tolist()}"


def test_a_session_takes_the_bytes_of_pictures(start, tmp_path):
    """Two batches of gray pictures, whose input is a row of bytes each."""
    (tmp_path / "aipp.cfg").write_text("aipp_op { aipp_mode: static input_format: YUV400_U8 mean_chn_0: 3 }")
    made = made_onnx.model([made_onnx.node("Relu", "x", "y")], "y", {}, {"x": ["N", 1, 2, 2]})
    (tmp_path / "net.onnx").write_bytes(made.SerializeToString())
    assert said(
        start,
        """
import numpy as np
from npu.session import InferenceSession
session = InferenceSession("net.onnx", insert_op_conf="aipp.cfg", input_shape="x:-1,1,2,2", dynamic_batch_size="1,2")
print(session.get_inputs()[0])
print(session.run(None, {"x": np.arange(8, dtype=np.uint8).reshape(2, 4)})[0].ravel().tolist())
opened = InferenceSession("net.onnx", insert_op_conf="aipp.cfg", input_shape="x:1~4,1,2,2")
print(opened.run(None, {"x": np.arange(12, dtype=np.uint8).reshape(3, 4)})[0].shape)
""",
        head="",
    ) == [
        "NodeArg(name='x', type='tensor(uint8)', shape=['x_0', 4])",
        "[0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0]",
        "(3, 1, 2, 2)",
    ]
