"""Picture preprocessing: pixels against a reference written pixel by pixel, and what a converted model looks like from outside."""

import numpy as np
import pytest

from npu import om
from npu.aipp import RGB_TO_YUV, YUV_TO_BGR, Csc, Settings
from npu.graph.errors import AtcError
from npu.ops.aipp import apply, between
from npu.ops.compute import Session
from tests.made_onnx import ORIGIN, convert, expected, model, node

BATCH = {"x": [2, 3, 4, 4]}


def pixel(settings, picture, x, y):
    """The bytes of a pixel in the order of the format, from the bytes of one picture."""
    width, height = settings.width, settings.height
    if settings.format == "YUV420SP_U8":
        pair = height * width + (y // 2) * width + x // 2 * 2
        return [picture[y * width + x], picture[pair], picture[pair + 1]]
    count = {"RGB888_U8": 3, "XRGB8888_U8": 4, "YUV400_U8": 1}[settings.format]
    start = (y * width + x) * count
    return list(picture[start : start + count])


def reference(settings, channels, picture):
    """[channels, height, width] in plain arithmetic: swap, crop, convert, normalise, pad."""
    left, top, wide, high = settings.crop or (0, 0, settings.width, settings.height)
    west, east, north, south = settings.padding or (0, 0, 0, 0)
    made = np.full((channels, high + north + south, wide + west + east), settings.padding_value, np.float32)
    for y in range(high):
        for x in range(wide):
            value = [int(v) for v in pixel(settings, picture, left + x, top + y)]
            if settings.ax_swap:
                value = [value[3], *value[:3]]
            if settings.rbuv_swap:
                value[-1], value[-3 if len(value) == 4 or settings.format == "RGB888_U8" else -2] = (
                    value[-3 if len(value) == 4 or settings.format == "RGB888_U8" else -2], value[-1])
            value = value[-channels:]
            if settings.csc:
                yuv = settings.format.startswith("YUV")
                taken = [v - b for v, b in zip(value, settings.csc.input_bias, strict=True)] if yuv else value
                rows = [settings.csc.matrix[at : at + 3] for at in (0, 3, 6)]
                value = [sum(m * v for m, v in zip(row, taken, strict=True)) >> 8 for row in rows]
                value = value if yuv else [v + b for v, b in zip(value, settings.csc.output_bias, strict=True)]
                value = [min(max(v, 0), 255) for v in value]
            for c in range(channels):
                low = np.float32(settings.mean[c] + settings.min[c])
                made[c, north + y, west + x] = (np.float32(value[c]) - low) * np.float32(settings.var_reci[c])
    return made


CASES = {
    "yuv to bgr, cropped and padded": (Settings(
        "YUV420SP_U8", 8, 6, (2, 2, 4, 4), (1, 0, 0, 2), 7.0, Csc(YUV_TO_BGR), mean=(104, 117, 123, 0), min=(0.5, 0.25, 0, 0),
        var_reci=(0.017, 0.0175, 0.5, 1)), 3),
    "nv21": (Settings("YUV420SP_U8", 4, 4, rbuv_swap=True), 3),
    "rgb": (Settings("RGB888_U8", 5, 3, (1, 0, 3, 3)), 3),
    "bgr": (Settings("RGB888_U8", 5, 3, rbuv_swap=True, mean=(1, 2, 3, 0)), 3),
    "rgb to yuv": (Settings("RGB888_U8", 4, 4, csc=Csc(RGB_TO_YUV)), 3),
    "argb": (Settings("XRGB8888_U8", 4, 2), 3),
    "rgba, as bgr": (Settings("XRGB8888_U8", 4, 2, ax_swap=True, rbuv_swap=True), 3),
    "argb with its fourth channel": (Settings("XRGB8888_U8", 4, 2, rbuv_swap=True, var_reci=(2, 1, 1, 3)), 4),
    "gray": (Settings("YUV400_U8", 6, 3, padding=(2, 2, 1, 1), var_reci=(1 / 255, 1, 1, 1)), 1),
}


@pytest.mark.parametrize("name", CASES)
def test_pixels_are_those_of_the_definition(name):
    settings, channels = CASES[name]
    settings.check()
    pictures = np.random.default_rng(5).integers(0, 256, (2, settings.bytes), dtype=np.uint8)
    found = apply(settings, channels, pictures)
    assert found.dtype == np.float32 and found.shape[2:] == settings.size[::-1]
    np.testing.assert_array_equal(found, [reference(settings, channels, p) for p in pictures])


def test_a_picture_twice_as_large_is_interpolated_between_the_middles_of_pixels():
    """The middles of 4 new pixels lie at -0.25, 0.25, 0.75, 1.25 of 2 old ones: weights 1, 3/4, 1/4, 0 of the first."""
    np.testing.assert_array_equal(between(2, 4), [[1, 0], [0.75, 0.25], [0.25, 0.75], [0, 1]])
    np.testing.assert_array_equal(between(4, 2), [[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    np.testing.assert_array_equal(between(1, 3), np.ones((3, 1)))


def test_a_resized_picture_is_rounded_normalised_and_padded():
    """8 gray columns 0, 10 .. 70 to 16: middles at -0.25 (0), 0.25 (2.5 becomes 3), 0.75 (7.5 becomes 8), 1.25 (12.5: 13) ..."""
    settings = Settings("YUV400_U8", 10, 16, (1, 0, 8, 16), (2, 0, 0, 1), 9.0, var_reci=(0.5, 1, 1, 1), resize=(16, 16))
    settings.check()
    assert settings.size == (18, 17)
    picture = np.tile(np.array([200, *range(0, 80, 10), 200], np.uint8), (16, 1))
    found = apply(settings, 1, picture.reshape(1, -1))[0, 0]
    row = [0, *(v for at in range(7) for v in (10 * at + 3, 10 * at + 8)), 70]
    np.testing.assert_array_equal(found[0], [9.0, 9.0, *(v / 2 for v in row)])
    np.testing.assert_array_equal(found[:16], np.tile(found[0], (16, 1)))
    np.testing.assert_array_equal(found[16], np.full(18, 9.0))


def test_a_model_resizes_the_pictures_it_takes(tmp_path):
    text = """aipp_op { aipp_mode: static input_format: RGB888_U8 src_image_size_w: 32 src_image_size_h: 16 crop: true
              load_start_pos_w: 2 crop_size_w: 24 resize: true }"""
    made = model([node("Relu", "x", "y")], "y", {}, {"x": [1, 3, 16, 16]})
    summary = convert(made, tmp_path, **ORIGIN, **config(tmp_path, text))
    assert summary.model.inputs[0].dims == (1, 16, 32, 3)
    picture = np.random.default_rng(2).integers(0, 256, (16, 32, 3), dtype=np.uint8)
    (found,) = Session(summary.path).run({"x": picture.reshape(1, -1)})
    cut = picture[:, 2:26].astype(np.float64).transpose(2, 0, 1)
    wanted = np.floor(cut @ between(24, 16).T + 0.5)
    np.testing.assert_array_equal(found[0], wanted)
    again = om.load(summary.path).aipp[0]
    assert again.settings.resize == (16, 16) and again.settings.cut == (24, 16)


def test_white_and_black_of_video():
    """BT.601 narrow: Y 235 is white, 16 black: (298 * 219) >> 8 = 254, (298 * 0) >> 8 = 0. Red is Y 81, U 90, V 240:
    298*65 - 516*38 = -238, 298*65 + 100*38 - 208*112 = -126, both cut to 0; 298*65 + 409*112 = 65178, >> 8 = 254."""
    settings = Settings("YUV420SP_U8", 2, 2, csc=Csc(YUV_TO_BGR))
    for y, u, v, bgr in ((235, 128, 128, (254, 254, 254)), (16, 128, 128, (0, 0, 0)), (81, 90, 240, (0, 0, 254))):
        found = apply(settings, 3, np.array([[y] * 4 + [u, v]], np.uint8))
        assert [int(found[0, c, 0, 0]) for c in range(3)] == list(bgr)


def config(folder, text):
    file = folder / "aipp.cfg"
    file.write_text(text)
    return {"insert_op_conf": str(file)}


RGB = """
aipp_op {  # a static one
    aipp_mode: static
    input_format: RGB888_U8
    mean_chn_0: 10
    var_reci_chn_2: 0.5
}
"""


def passed_on(dims=(1, 3, 4, 4)):
    return model([node("Relu", "x", "y")], "y", {}, {"x": list(dims)})


def test_a_static_model_takes_pictures(tmp_path):
    summary = convert(passed_on((2, 3, 4, 4)), tmp_path, **config(tmp_path, RGB))
    held = om.load(summary.path)
    assert held.inputs == (om.Tensor("x", "uint8", (2, 4, 4, 3), "NHWC", 48),) and held.inputs[0].bytes == 96
    assert held.aipp[0].dims == (2, 3, 4, 4) and held.aipp[0].settings == summary.model.aipp[0].settings
    first = held.kernels[0]
    assert (first.name, first.op_type, first.in_shapes, first.in_dtypes, first.in_formats) == (
        "aipp_node0", "Aipp", "2,4,4,3", "UINT8", "NHWC")
    assert (first.out_shapes, first.out_dtypes, first.out_formats) == ("2,1,4,4,16", "FLOAT16", "NC1HWC0")
    # 2 pictures of 48 bytes are read, 2 * 1 block * 16 pixels * 16 channels of 2 bytes written
    assert (first.work.read_bytes, first.work.write_bytes) == (96, 1024)
    pictures = np.arange(96, dtype=np.uint8).reshape(2, 48)
    (found,) = Session(summary.path).run({"x": pictures})
    planes = pictures.reshape(2, 4, 4, 3).transpose(0, 3, 1, 2).astype(np.float32)
    wanted = np.maximum((planes - np.float32([10, 0, 0]).reshape(3, 1, 1)) * np.float32([1, 1, 0.5]).reshape(3, 1, 1), 0)
    np.testing.assert_array_equal(found, wanted)  # whole numbers and halves below 2048: half precision holds them


def test_the_rest_of_the_model_is_as_without(tmp_path):
    """The picture's planes, rounded to half precision, through the same convolution."""
    from tests.made_onnx import conv_bn, weights

    made = model([*conv_bn(), node("Relu", "n", "y")], "y", weights(), {"x": [1, 3, 8, 8]})
    text = RGB.replace("mean_chn_0: 10", "var_reci_chn_0: 0.0039 var_reci_chn_1: 0.0039")
    summary = convert(made, tmp_path, **config(tmp_path, text), **ORIGIN)
    picture = np.random.default_rng(2).integers(0, 256, (1, 8, 8, 3), dtype=np.uint8)
    scale = np.float32([0.0039, 0.0039, 0.5]).reshape(3, 1, 1)
    planes = (picture.transpose(0, 3, 1, 2).astype(np.float32) * scale).astype(np.float16).astype(np.float32)
    (found,) = Session(summary.path).run({"x": picture.reshape(1, -1)})
    np.testing.assert_allclose(found, expected(made, {"x": planes})[0], rtol=1e-4, atol=1e-4)
    assert [k.op_type for k in summary.model.kernels] == ["Aipp", "Cast", "Conv2D", "TransData"]


def test_batches_of_gears_are_batches_of_pictures(tmp_path):
    text = RGB.replace("RGB888_U8", "YUV420SP_U8")
    summary = convert(passed_on((1, 3, 4, 4)), tmp_path, input_shape="x:-1,3,4,4", dynamic_batch_size="1,4", **config(tmp_path, text))
    assert summary.model.inputs == (om.Tensor("x", "uint8", (-1, 4, 4, 3), "NHWC", 24),)
    assert summary.model.gears == ({"x": (1, 4, 4, 3)}, {"x": (4, 4, 4, 3)})
    assert [k[0].work.read_bytes for k in summary.model.gear_kernels] == [24, 96]
    assert Session(summary.path).run({"x": np.zeros((4, 24), np.uint8)})[0].shape == (4, 3, 4, 4)


def test_a_model_of_half_precision_gets_halves(tmp_path):
    from onnx import TensorProto

    made = model([node("Relu", "x", "y")], "y", {}, {"x": [1, 3, 4, 4]}, types={"x": TensorProto.FLOAT16, "y": TensorProto.FLOAT16})
    summary = convert(made, tmp_path, **config(tmp_path, RGB), **ORIGIN)
    (found,) = Session(summary.path).run({"x": np.full((1, 48), 20, np.uint8)})
    assert found.dtype == np.float16 and found[0, :, 0, 0].tolist() == [10.0, 20.0, 10.0]
    assert [k.op_type for k in summary.model.kernels] == ["Aipp", "Relu", "TransData"]


def test_planes_are_read_in_the_type_of_the_mode(tmp_path):
    """21 - 0.6875 = 20.3125 lies between 20.25 and 20.375, its neighbours in bfloat16; the tie goes to the even one."""
    text = RGB.replace("mean_chn_0: 10", "min_chn_0: 0.6875")
    made = model([node("Conv", "x w", "y")], "y", {"w": np.float32([1, 0, 0]).reshape(1, 3, 1, 1)}, {"x": [1, 3, 4, 4]})
    summary = convert(made, tmp_path, **config(tmp_path, text), precision_mode="allow_mix_precision_bf16")
    assert [k.op_type for k in summary.model.kernels] == ["Aipp", "Cast", "Conv2D", "TransData", "Cast"]
    assert Session(summary.path).run({"x": np.full((1, 48), 21, np.uint8)})[0][0, 0, 0, 0] == 20.25


def test_an_open_batch_is_an_open_number_of_pictures(tmp_path):
    summary = convert(passed_on(), tmp_path, input_shape="x:1~4,3,4,4", **config(tmp_path, RGB))
    assert summary.model.dynamic and summary.model.planned == {"x": (4, 4, 4, 3)}
    assert Session(summary.path).run({"x": np.zeros((3, 48), np.uint8)})[0].shape == (3, 3, 4, 4)


def test_two_inputs_each_with_their_own(tmp_path):
    made = model([node("Add", "x z", "y")], "y", {}, {"x": [1, 1, 2, 2], "z": [1, 1, 2, 2]})
    one = "aipp_op {{ aipp_mode: static related_input_rank: {} input_format: YUV400_U8 mean_chn_0: {} }}"
    summary = convert(made, tmp_path, **config(tmp_path, one.format(1, 2) + one.format(0, 1)))
    assert [k.name for k in summary.model.kernels if k.op_type == "Aipp"] == ["aipp_node1", "aipp_node0"]
    feeds = {"x": np.array([[10, 20, 30, 40]], np.uint8), "z": np.array([[1, 2, 3, 4]], np.uint8)}
    assert Session(summary.path).run(feeds)[0].ravel().tolist() == [8.0, 19.0, 30.0, 41.0]


@pytest.mark.parametrize("text, code, part", [
    ("aipp_op { aipp_mode: static", "E10052", "the text ends"),
    ("aipp_op { aipp_mode static }", "E10052", "line 1: ':' or '{' must follow aipp_mode"),
    ("aip { aipp_mode: static }", "E10052", "aipp_op { ... } is wanted, not aip"),
    ("", "E10052", "no aipp_op"),
    ("aipp_op { input_format: RGB888_U8 }", "E10052", "aipp_mode must be configured"),
    ("aipp_op { aipp_mode: dynamic }", "E10052", "max_src_image_size must be set"),
    ("aipp_op { aipp_mode: static }", "E10052", "input format of AIPP conf must be set"),
    ("aipp_op { aipp_mode: static input_format: BGR }", "E10052", "none of YUV420SP_U8"),
    ("aipp_op { aipp_mode: static\n colour: 3 }", "E10052", "line 2: AIPP has no parameter colour"),
    ("aipp_op { aipp_mode: static crop: maybe }", "E10052", "crop must be true or false"),
    ("aipp_op { aipp_mode: static mean_chn_0: 1.5 }", "E10052", "mean_chn_0 must be a whole number"),
    ("aipp_op { aipp_mode: static matrix_r0c0: 1 matrix_r0c0: 2 }", "E10052", "can not be configured repeatedly"),
    ("aipp_op { aipp_mode: static crop_size_w: -2 }", "E10052", "must not be configured smaller than 0"),
    ("aipp_op { aipp_mode: static input_bias_0: 300 }", "E10052", "between 0 and 255"),
    ("aipp_op { aipp_mode: static input_format: RGB888_U8 resize: true }", "E10052", "resize needs src_image_size_w"),
    ("aipp_op { aipp_mode: static input_format: RGB888_U8 src_image_size_w: 8 src_image_size_h: 8 resize: true }", "E10052",
     "resize_output_w is 4, it must lie between 16 and 1920"),
    ("aipp_op { aipp_mode: static input_format: RGB888_U8 src_image_size_w: 600 src_image_size_h: 8 resize: true "
     "resize_output_w: 16 resize_output_h: 16 }", "E10052", "more than 16 times larger or smaller"),
    ("aipp_op { aipp_mode: static input_format: RGB888_U8 related_input_rank: 1 }", "E10052", "beyond the inputs"),
    ("aipp_op { aipp_mode: static input_format: YUV400_U8 }", "E10052", "give 1 channels, input x has 3"),
    ("aipp_op { aipp_mode: static input_format: RGB888_U8 src_image_size_w: 6 }", "E70014", "aipp_output_W is 6"),
    ("aipp_op { aipp_mode: static input_format: RGB888_U8 crop: true load_start_pos_w: 1 }", "E10052", "does not lie in the picture"),
    ("aipp_op { aipp_mode: static input_format: YUV420SP_U8 src_image_size_w: 6 crop: true load_start_pos_w: 1 }", "E10052",
     "must be even"),
    ("aipp_op { aipp_mode: static input_format: RGB888_U8 padding: true left_padding_size: 33 }", "E10052", "src_image_size_w"),
    ("aipp_op { aipp_mode: dynamic max_src_image_size: 9 } aipp_op { aipp_mode: static input_format: RGB888_U8 }", "E10052",
     "static and dynamic"),
    ("aipp_op { aipp_mode: static input_format: RGB888_U8 } aipp_op { aipp_mode: static input_format: RGB888_U8 }", "E10052",
     "one AIPP only"),
])
def test_wrong_configurations_are_refused_with_the_reason(tmp_path, text, code, part):
    with pytest.raises(AtcError) as caught:
        convert(passed_on(), tmp_path, **config(tmp_path, text))
    assert caught.value.code == code and part in caught.value.message
    assert not (tmp_path / "m.om").exists()


@pytest.mark.parametrize("flags, code", [
    ({"input_format": "ND"}, "E10001"), ({"input_fp16_nodes": "x"}, "E10034"), ({"input_shape": "x:-1,3,4,4", "dynamic_dims": "1;2"}, "E10056"),
    ({"input_shape": "x:1,3,-1,-1", "dynamic_image_size": "4,4;8,8"}, "E10052")])
def test_options_that_do_not_go_with_it(tmp_path, flags, code):
    with pytest.raises(AtcError) as caught:
        convert(passed_on(), tmp_path, **config(tmp_path, RGB), **flags)
    assert caught.value.code == code


def test_a_missing_configuration(tmp_path):
    with pytest.raises(AtcError) as caught:
        convert(passed_on(), tmp_path, insert_op_conf=str(tmp_path / "none.cfg"))
    assert caught.value.code == "E13001"


@pytest.mark.parametrize("field, value", [("format", "JPEG"), ("width", 0), ("csc", {"matrix": [1], "input_bias": [], "output_bias": []}),
                                          ("crop", [0, 0, 9, 9]), ("mean", "high"), ("min", [1, 2]), ("padding", 3),
                                          ("var_reci", None)])
def test_a_model_file_with_settings_no_picture_has(tmp_path, field, value):
    import json

    summary = convert(passed_on(), tmp_path, **config(tmp_path, RGB))
    meta = om.read_metadata(summary.path)
    plan = json.loads(meta["npu.plan"])
    plan["aipp"][0]["settings"][field] = value
    with pytest.raises(om.BadModel):
        om.from_metadata(meta | {"npu.plan": json.dumps(plan)})
