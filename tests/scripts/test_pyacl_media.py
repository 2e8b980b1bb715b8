"""acl.media: scaling, cutting, converting, pasting pictures; rules of strides and areas; channels."""

from __future__ import annotations

import pytest

from tests.scripts.acl_script import said
from tests.scripts.pictures import HEAD

pytestmark = pytest.mark.slow  # many starts of programs


def test_a_picture_is_cut_out_byte_for_byte(start):
    assert said(
        start,
        """
data = noise(64, 32)
a, b = pic(64, 32, fill=data), pic(32, 16)
roi = M.dvpp_create_roi_config(16, 47, 8, 23)
print(M.dvpp_vpc_crop_async(channel, a, b, roi, s), acl.rt.synchronize_stream(s))
y, uv = get(b)
luma, colour = data[: 64 * 32].reshape(32, 64), data[64 * 32 :].reshape(16, 64)
print((y == luma[8:24, 16:48]).all(), (uv == colour[4:12, 16:48]).all())
c = pic(64, 32)
place = M.dvpp_create_roi_config(32, 63, 16, 31)
print(M.dvpp_vpc_crop_and_paste_async(channel, a, c, roi, place, s), acl.rt.synchronize_stream(s))
y, uv = get(c)
print((y[16:, 32:] == luma[8:24, 16:48]).all(), y[:16].any(), y[:, :32].any(), (uv[8:, 32:] == colour[4:12, 16:48]).all())
""",
        head=HEAD,
    ) == ["0 0", "True True", "0 0", "True False False True"]


def test_a_cut_of_another_size_than_its_target_is_scaled(start):
    """The media engine scales what was cut out to the output picture (public documentation of acldvppVpcCropAsync)."""
    assert said(
        start,
        """
flat, out = pic(64, 32, fill=np.full(64 * 48, 77, np.uint8)), pic(48, 32)
roi = M.dvpp_create_roi_config(16, 47, 8, 23)
print(M.dvpp_vpc_crop_async(channel, flat, out, roi, s), acl.rt.synchronize_stream(s), set(get(out)[0].ravel()))
data = noise(64, 32)
whole, same = pic(64, 32, fill=data), pic(32, 16)
M.dvpp_vpc_crop_async(channel, whole, same, roi, s)
twice = pic(64, 32)
print(M.dvpp_vpc_crop_async(channel, whole, twice, roi, s), acl.rt.synchronize_stream(s))
big = pic(64, 32)
M.dvpp_vpc_resize_async(channel, same, big, M.dvpp_create_resize_config(), s)
acl.rt.synchronize_stream(s)
print(all((a == b).all() for a, b in zip(get(twice), get(big))))
""",
        head=HEAD,
    ) == ["0 0 {np.uint8(77)}", "0 0", "True"]


def test_scaling_of_flat_and_sloping_pictures(start):
    """A flat picture stays flat; a slope is halved between its pixels' centres."""
    assert said(
        start,
        """
r = M.dvpp_create_resize_config()
flat = pic(64, 32, fill=np.full(64 * 48, 77, np.uint8))
out = pic(96, 64)
print(
    M.dvpp_vpc_resize_async(channel, flat, out, r, s),
    acl.rt.synchronize_stream(s),
    set(get(out)[0].ravel()) | set(get(out)[1].ravel()),
)
slope = np.concatenate([np.tile(np.arange(64, dtype=np.uint8) * 2, (32, 1)).ravel(), np.full(64 * 16, 128, np.uint8)])
a, b = pic(64, 32, fill=slope), pic(32, 16)
print(
    M.dvpp_set_resize_config_interpolation(r, 1),
    M.dvpp_get_resize_config_interpolation(r),
    M.dvpp_set_resize_config_interpolation(r, 9),
)
M.dvpp_vpc_resize_async(channel, a, b, r, s)
acl.rt.synchronize_stream(s)
print(get(b)[0][3, :6].tolist())
M.dvpp_set_resize_config_interpolation(r, 2)
M.dvpp_vpc_resize_async(channel, a, b, r, s)
acl.rt.synchronize_stream(s)
print(get(b)[0][3, :6].tolist())
roi = M.dvpp_create_roi_config(0, 31, 0, 15)
print(M.dvpp_vpc_crop_resize_async(channel, a, b, roi, r, s), acl.rt.synchronize_stream(s), get(b)[0][0, :4].tolist())
place = M.dvpp_create_roi_config(16, 31, 0, 7)
print(
    M.dvpp_vpc_crop_resize_paste_async(channel, a, b, roi, place, r, s),
    acl.rt.synchronize_stream(s),
    get(b)[0][0, 14:20].tolist(),
)
print(M.dvpp_vpc_pyr_down_async(channel, flat, pic(32, 16), 0, s), acl.rt.synchronize_stream(s))
""",
        head=HEAD,
    ) == [
        "0 0 {np.uint8(77)}",
        "0 1 100000",
        "[1, 5, 9, 13, 17, 21]",
        "[0, 4, 8, 12, 16, 20]",
        "0 0 [0, 2, 4, 6]",
        "0 0 [28, 30, 0, 4, 8, 12]",
        "0 0",
    ]


def test_colours_are_converted_as_bt601_with_the_whole_range(start):
    """Red is Y 76, U 85, V 255 (0.299 * 255, 128 - 0.169 * 255, 128 + 0.5 * 255)."""
    assert said(
        start,
        """
red = np.tile(np.array([255, 0, 0], np.uint8), (32, 64, 1))
a = pic(64, 32, 12, red.reshape(32, 192))
b, c = pic(64, 32, 1), pic(64, 32, 2)
d = pic(64, 32, 13)
print([M.dvpp_vpc_convert_color_async(channel, a, o, s) for o in (b, c)], acl.rt.synchronize_stream(s))
print(get(b)[0][0, 0], get(b)[1][0, :2].tolist(), get(c)[1][0, :2].tolist())
print(M.dvpp_vpc_convert_color_async(channel, b, d, s), acl.rt.synchronize_stream(s), get(d)[0][0, :3].tolist())
print(
    M.dvpp_set_channel_desc_param(channel, 0, 1) == (channel, 0),
    M.dvpp_get_channel_desc_param(channel, 0),
    M.dvpp_set_channel_desc_param(channel, 0, 9)[1],
)
M.dvpp_vpc_convert_color_async(channel, a, b, s)
acl.rt.synchronize_stream(s)
print(get(b)[0][0, 0])  # narrow: 16 + 219 / 255 * 76.2
print(M.dvpp_vpc_convert_color_async(channel, a, pic(32, 32), s))
""",
        head=HEAD,
    ) == ["[0, 0] 0", "76 [85, 255] [255, 85]", "0 0 [0, 0, 254]", "True (4, 1, 0) 100000", "81", "100000"]


def test_many_parts_of_many_pictures_in_one_job(start):
    assert said(
        start,
        """
one, two = noise(64, 32), noise(96, 64)
sources, targets = M.dvpp_create_batch_pic_desc(2), M.dvpp_create_batch_pic_desc(3)
def fill(d, like):
    for f in ("data", "size", "format", "width", "height", "width_stride", "height_stride"):
        getattr(M, "dvpp_set_pic_desc_" + f)(d, getattr(M, "dvpp_get_pic_desc_" + f)(like))
fill(M.dvpp_get_pic_desc(sources, 0), pic(64, 32, fill=one))
fill(M.dvpp_get_pic_desc(sources, 1), pic(96, 64, fill=two))
for n in range(3):
    fill(M.dvpp_get_pic_desc(targets, n), pic(32, 16))
rois = [M.dvpp_create_roi_config(*v) for v in ((0, 31, 0, 15), (32, 63, 16, 31), (64, 95, 48, 63))]
r = M.dvpp_create_resize_config()
print(M.dvpp_vpc_batch_crop_async(channel, sources, [2, 1], targets, rois, s) == (targets, 0), acl.rt.synchronize_stream(s))
luma = [one[:2048].reshape(32, 64), two[: 96 * 64].reshape(64, 96)]
print(
    [
        (get(M.dvpp_get_pic_desc(targets, n))[0] == a).all().item()
        for n, a in enumerate((luma[0][:16, :32], luma[0][16:, 32:], luma[1][48:, 64:]))
    ]
)
print(
    M.dvpp_vpc_batch_crop_resize_async(channel, sources, [1, 2], targets, rois, r, s),
    M.dvpp_vpc_batch_crop_async(channel, sources, [2, 2], targets, rois, s)[1],
)
places = [M.dvpp_create_roi_config(16, 31, 0, 15)] * 3
border = M.dvpp_create_border_config()
for name, value in (("top", 2), ("bottom", 2), ("left", 4), ("right", 4)):
    getattr(M, "dvpp_set_border_config_" + name)(border, value)
M.dvpp_set_border_config_value(border, 0, 9.0)
print(
    M.dvpp_get_border_config_value(border, 0),
    M.dvpp_get_border_config_left(border),
    M.dvpp_set_border_config_value(border, 4, 1.0),
)
print(
    M.dvpp_vpc_batch_crop_resize_paste_async(channel, sources, [2, 1], targets, rois, places, r, s),
    M.dvpp_vpc_batch_crop_resize_make_border_async(channel, sources, [2, 1], targets, rois, [border] * 3, r, s),
    acl.rt.synchronize_stream(s),
)
y = get(M.dvpp_get_pic_desc(targets, 0))[0]
print(set(y[:2].ravel()) | set(y[:, :4].ravel()) | set(y[-2:].ravel()), y[2:14, 4:28].std() > 10)
try:
    M.dvpp_vpc_batch_crop_async(channel, sources, [0, 0], targets, [], s)
except ValueError as error:
    print(error)
print(M.dvpp_destroy_batch_pic_desc(sources), M.dvpp_get_pic_desc(sources, 0), M.dvpp_get_pic_desc(targets, 9))
""",
        head=HEAD,
    ) == [
        "True 0",
        "[True, True, True]",
        "0 100000",
        "9.0 4 100000",
        "0 0 0",
        "{np.uint8(9)} True",
        "the number of areas must be 1 to 256",
        "0 0 0",
    ]


def test_rules_are_named_by_the_errors(start):
    assert said(
        start,
        """
r = M.dvpp_create_resize_config()
good = pic(64, 32)
def why(*change):
    d = pic(64, 32)
    for f, v in change:
        getattr(M, "dvpp_set_pic_desc_" + f)(d, v)
    ret = M.dvpp_vpc_resize_async(channel, good, d, r, s)
    return ret, acl.get_recent_err_msg().splitlines()[0].partition("validation: ")[2]
for change in (
    (("width_stride", 72),),
    (("height_stride", 33),),
    (("width", 63),),
    (("size", 100),),
    (("format", 999),),
    (("data", 0),),
):
    print(*why(*change))
for area in ((1, 32, 0, 15), (0, 64, 0, 15), (0, 30, 0, 15)):
    print(M.dvpp_vpc_crop_async(channel, good, pic(32, 16), M.dvpp_create_roi_config(*area), s), end=" ")
print(
    M.dvpp_vpc_crop_and_paste_async(
        channel, good, pic(64, 32), M.dvpp_create_roi_config(0, 31, 0, 15), M.dvpp_create_roi_config(8, 39, 0, 15), s
    ),
    M.dvpp_vpc_resize_async(channel, good, good, 0, s),
    M.dvpp_vpc_resize_async(channel, good, pic(4096, 32), r, s),
)
""",
        head=HEAD,
    ) == [
        "100000 picture output, width_stride 72, reason must be a multiple of 16 of at least 64.",
        "100000 picture output, height_stride 33, reason must be a multiple of 2 of at least 32.",
        "100000 picture output, width 63, height 32, reason must be multiples of (2, 2).",
        "100000 picture output, size 100, reason strides and format make 3072 bytes.",
        "100000 format 999, known [0, 1, 2, 3, 4, 5, 6, 12, 13, 14, 15, 16, 17].",
        "100000 picture output, width 64, height 32, data 0.",
        "100000 100000 100000 100000 100000 100000",
    ]


def test_channels_open_close_and_are_for_their_units(start):
    assert said(
        start,
        """
c = M.dvpp_create_channel_desc()
r = M.dvpp_create_resize_config()
print(
    M.dvpp_set_channel_desc_mode(c, 2),
    M.dvpp_set_channel_desc_mode(c, 64),
    M.dvpp_vpc_resize_async(c, pic(64, 32), pic(32, 16), r, s),
    M.dvpp_destroy_channel(c),
    M.dvpp_create_channel(c),
    M.dvpp_create_channel(c),
)
print(
    M.dvpp_get_channel_desc_channel_id(c),
    M.dvpp_vpc_resize_async(c, pic(64, 32), pic(32, 16), r, s),
    M.dvpp_destroy_channel_desc(c),
    M.dvpp_destroy_channel(c),
    M.dvpp_destroy_channel_desc(c),
    M.dvpp_destroy_channel_desc(c),
)
d = M.dvpp_create_stream_desc()
print(
    M.dvpp_set_stream_desc_timestamp(d, 1 << 40),
    M.dvpp_get_stream_desc_timestamp(d),
    M.dvpp_set_stream_desc_eos(d, 1),
    M.dvpp_get_stream_desc_eos(d),
    M.dvpp_destroy_stream_desc(d),
    M.dvpp_get_stream_desc_eos(d),
)
print(M.vdec_create_channel_desc(), acl.himpi.sys_init(), acl.himpi.vpc_create_chn(0, {"attr": 0}), acl.fv.init(0))
""",
        head=HEAD,
    ) == ["0 100000 100000 100000 0 100000", "1 100000 148051 0 0 100000", "0 1099511627776 0 1 0 0", "0 207000 207000 207000"]


def test_jobs_take_time_by_their_pixels_and_share_their_unit(start):
    assert said(
        start,
        """
r = M.dvpp_create_resize_config()
a, b = pic(1920, 1080), pic(640, 640)
t, _ = acl.rt.create_stream()
e = [acl.rt.create_event()[0] for _ in range(4)]
acl.rt.record_event(e[0], s)
M.dvpp_vpc_resize_async(channel, a, b, r, s)
acl.rt.record_event(e[1], s)
acl.rt.synchronize_stream(s)
one = acl.rt.event_elapsed_time(e[0], e[1])[0]
print(0.6 < one < 0.7)  # 100 us and 2.07 million pixels at 4 per ns
outputs = [pic(640, 640) for _ in range(2)]  # made before: memory calls wait for the device
acl.rt.record_event(e[2], s)
for q, to in zip((s, t), outputs):
    M.dvpp_vpc_resize_async(channel, a, to, r, q)
acl.rt.record_event(e[3], s)
acl.rt.synchronize_device()
print(1.5 < acl.rt.event_elapsed_time(e[2], e[3])[0] / one < 2.1)
""",
        head=HEAD,
        NPU_COMPUTE="off",
    ) == ["True", "True"]
