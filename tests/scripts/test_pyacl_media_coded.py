"""acl.media: JPEG and PNG pictures decoded and coded."""

from __future__ import annotations

from tests.scripts.acl_script import said
from tests.scripts.pictures import HEAD


def test_a_jpeg_is_decoded_scaled_and_coded_again(start):
    assert said(
        start,
        """
w, h = 200, 120
ramp = np.zeros((h, w, 3), np.uint8)
ramp[..., 0] = np.arange(w)
ramp[..., 1] = np.arange(h)[:, None] * 2
ramp[..., 2] = 60
out = io.BytesIO()
Image.fromarray(ramp).save(out, "JPEG", quality=95)
data = out.getvalue()
ptr = acl.util.bytes_to_ptr(data)
print(M.dvpp_jpeg_get_image_info(ptr, len(data)), M.dvpp_jpeg_get_image_info_v2(ptr, len(data)))
size, ret = M.dvpp_jpeg_predict_dec_size(ptr, len(data), 1)
print(ret, size == 256 * 128 * 3 // 2)
coded, _ = M.dvpp_malloc(len(data))
acl.rt.memcpy(coded, len(data), ptr, len(data), 1)
p, _ = M.dvpp_malloc(size)
d = M.dvpp_create_pic_desc()
for f, v in (("data", p), ("size", size), ("format", 1)):
    getattr(M, "dvpp_set_pic_desc_" + f)(d, v)
print(
    M.dvpp_jpeg_decode_async(channel, coded, len(data), d, s),
    acl.rt.synchronize_stream(s),
    [getattr(M, "dvpp_get_pic_desc_" + f)(d) for f in ("width", "height", "width_stride", "height_stride", "ret_code")],
)
wanted = np.asarray(Image.open(io.BytesIO(data)).convert("YCbCr"))
print(np.abs(get(d)[0][:h, :w].astype(int) - wanted[..., 0]).max())  # by way of RGB and back
level = M.dvpp_create_jpege_config()
print(
    M.dvpp_set_jpege_config_level(level, 90), M.dvpp_get_jpege_config_level(level), M.dvpp_set_jpege_config_level(level, 101)
)
room, ret = M.dvpp_jpeg_predict_enc_size(d, level)
q, _ = M.dvpp_malloc(room)
word = np.array([room], np.uint32)
print(
    ret,
    M.dvpp_jpeg_encode_async(channel, d, q, word.ctypes.data, level, s),
    acl.rt.synchronize_stream(s),
    1000 < word[0] < room,
)
back = np.zeros(word[0], np.uint8)
acl.rt.memcpy(back.ctypes.data, back.nbytes, q, back.nbytes, 2)
again = np.asarray(Image.open(io.BytesIO(back.tobytes())).convert("RGB"))
print(again.shape, np.abs(again.astype(int) - ramp).mean() < 3)
host, plain = (
    back.ctypes.data,
    acl.rt.malloc(8, 0)[0],
)  # memory of the media engine is either side; what is on the other end must still fit
print(
    [
        acl.rt.memcpy(*a)
        for a in (
            (host, 8, q, 8, 0),
            (q, 8, host, 8, 0),
            (plain, 8, q, 8, 1),
            (q, 8, plain, 8, 2),
            (q, 8, plain, 8, 3),
            (host, 8, q, 8, 1),
            (q, 8, host, 8, 2),
        )
    ],
    acl.rt.free(q),
    M.dvpp_free(p),
    M.dvpp_free(p),
)
""",
        head=HEAD,
    ) == [
        "(200, 120, 3, 0) (200, 120, 3, 2, 0)",
        "0 True",
        "0 0 [200, 120, 256, 128, 0]",
        "1",
        "0 90 100000",
        "0 0 0 True",
        "(120, 200, 3) True",
        "[0, 0, 0, 0, 0, 507018, 507018] 0 0 207002",
    ]


def test_what_the_decoder_cannot_take(start):
    assert said(
        start,
        """
out = io.BytesIO()
Image.new("RGB", (64, 64)).save(out, "JPEG", progressive=True)
data = out.getvalue()
ptr = acl.util.bytes_to_ptr(data)
print(
    M.dvpp_jpeg_get_image_info(ptr, len(data))[3],
    M.dvpp_jpeg_predict_dec_size(ptr, len(data), 1)[1],
    M.dvpp_jpeg_get_image_info(acl.util.bytes_to_ptr(b"nothing"), 7)[3],
    M.dvpp_jpeg_get_image_info(0, 5)[3],
)
print(acl.get_recent_err_msg().splitlines()[0])
gray = io.BytesIO()
Image.new("L", (64, 64)).save(gray, "JPEG")
g = gray.getvalue()
print(M.dvpp_jpeg_get_image_info_v2(acl.util.bytes_to_ptr(g), len(g)))
damaged = bytearray(g)
damaged[-40:] = b"x" * 40
half = bytes(damaged[: len(g) // 2])
p, _ = M.dvpp_malloc(len(half))
acl.rt.memcpy(p, len(half), acl.util.bytes_to_ptr(half), len(half), 1)
print(M.dvpp_jpeg_decode_async(channel, p, len(half), pic(64, 64, stride=(128, 64)), s), acl.rt.synchronize_stream(s))
""",
        head=HEAD,
    ) == [
        "148052 148052 148052 100000",
        "acldvppJpegGetImageInfo failed, error code 100000, cause invalid_param: "
        "An argument failed validation: pointer 0x0, size 5.",
        "(64, 64, 1, 3, 0)",
        "0 100000",
    ]


def test_a_png_is_decoded_to_rgb(start):
    assert said(
        start,
        """
a = np.random.default_rng(0).integers(0, 256, (30, 50, 3), dtype=np.uint8)
out = io.BytesIO()
Image.fromarray(a).save(out, "PNG")
data = out.getvalue()
p, _ = M.dvpp_malloc(len(data))
acl.rt.memcpy(p, len(data), acl.util.bytes_to_ptr(data), len(data), 1)
print(M.dvpp_png_get_image_info(p, len(data)), M.dvpp_png_get_image_info_v2(p, len(data))[4])
size, ret = M.dvpp_png_predict_dec_size(p, len(data), 12)
d = pic(50, 30, 12, stride=(256, 32))
print(ret, size == 256 * 32)
print(
    M.dvpp_png_decode_async(channel, p, len(data), d, s),
    acl.rt.synchronize_stream(s),
    (get(d)[0][:30, :150].reshape(30, 50, 3) == a).all(),
    M.dvpp_png_decode_async(channel, p, len(data), pic(50, 30, 1, stride=(128, 32)), s),
)
""",
        head=HEAD,
    ) == ["(50, 30, 3, 0) 0", "0 True", "0 0 True 100000"]
