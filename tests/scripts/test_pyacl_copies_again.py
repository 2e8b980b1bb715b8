"""A copy that was queued before is not checked again, and is as soon as memory on either side has changed."""

from __future__ import annotations

from tests.scripts.acl_script import said
from tests.scripts.conftest import Run


def test_freed_and_made_anew(start: Run) -> None:
    assert said(start, """
s = acl.rt.create_stream()[0]
d, h = acl.rt.malloc(4096, 0)[0], acl.rt.malloc_host(4096)[0]
def up(): return acl.rt.memcpy_async(d, 4096, h, 4096, 1, s)
def down(): return acl.rt.memcpy_async(h, 4096, d, 4096, 2, s)
view = acl.util.ptr_to_numpy(h, (4096,), 1)
for value in (1, 2):
    view[:] = value; up(); acl.rt.synchronize_stream(s); view[:] = 0; down(); acl.rt.synchronize_stream(s); print(view.min())
acl.rt.free(d)
print(up(), down())
small = acl.rt.malloc(64, 0)[0]
print(small == d, up(), acl.rt.memcpy_async(d, 64, h, 64, 1, s))  # the same address, and too short for the old copy
acl.rt.synchronize_stream(s); acl.rt.free(small)
print(acl.rt.malloc(4096, 0)[0] == d, up(), acl.rt.synchronize_stream(s))
acl.rt.reset_device(0); acl.rt.set_device(0); s = acl.rt.create_stream()[0]
print(up())  # the device is another one: nothing was allocated there
""") == ["1", "2", "507018 507018", "True 107000 0", "True 0 0", "507018"]


def test_host_memory_that_is_page_locked_no_longer(start: Run) -> None:
    """Then the bytes are taken at the call, so what is written afterwards does not arrive."""
    assert said(start, """
s = acl.rt.create_stream()[0]
d = acl.rt.malloc(64, 0)[0]
a = np.full(64, 3, np.uint8); h = a.ctypes.data
acl.rt.host_register_v2(h, 64, 2)
def sent(value):
    a[:] = value - 1
    acl.rt.memcpy_async(d, 64, h, 64, 1, s); a[:] = value; acl.rt.synchronize_stream(s)
    out = np.zeros(64, np.uint8); acl.rt.memcpy(out.ctypes.data, 64, d, 64, 2); return int(out[0])
print(sent(5), sent(7))
acl.rt.host_unregister(h)
print(sent(9))
""") == ["5 7", "8"]
