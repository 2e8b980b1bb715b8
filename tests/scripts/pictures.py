"""Pictures on the device: what scripts that test the media engine begin with."""

from __future__ import annotations

HEAD = """
import acl, numpy as np, io
from PIL import Image
acl.init()
acl.rt.set_device(0)
s, _ = acl.rt.create_stream()
M = acl.media
channel = M.dvpp_create_channel_desc()
M.dvpp_create_channel(channel)
up = lambda v, n: -(-v // n) * n
def pic(w, h, form=1, fill=None, stride=None):
    ws, hs = stride or (up(w * (3 if form in (12, 13) else 1), 16), up(h, 2))
    n = ws * hs * 3 // 2 if form in (1, 2) else ws * hs
    p, ret = M.dvpp_malloc(n)
    acl.rt.memset(p, n, 0, n)
    d = M.dvpp_create_pic_desc()
    for name, value in dict(data=p, size=n, format=form, width=w, height=h, width_stride=ws, height_stride=hs).items():
        assert getattr(M, "dvpp_set_pic_desc_" + name)(d, value) == 0
    if fill is not None:
        a = np.ascontiguousarray(fill)
        acl.rt.memcpy(p, a.nbytes, a.ctypes.data, a.nbytes, 1)
    return d
def get(d):
    p, n, ws, hs = (getattr(M, "dvpp_get_pic_desc_" + f)(d) for f in ("data", "size", "width_stride", "height_stride"))
    a = np.zeros(n, np.uint8)
    assert acl.rt.memcpy(a.ctypes.data, n, p, n, 2) == 0
    return a[: ws * hs].reshape(hs, ws), a[ws * hs :].reshape(-1, ws)
def noise(w, h):
    return np.random.default_rng(w).integers(0, 256, w * h * 3 // 2, dtype=np.uint8)
"""
