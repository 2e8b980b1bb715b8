"""acl.rt: other forms of memory and copies: rows, registered memory, values, reductions, virtual addresses."""

from __future__ import annotations

from tests.scripts.acl_script import said


def test_rows_are_copied_with_their_pitches_both_ways(start):
    assert said(
        start,
        """
a = np.arange(48, dtype=np.uint8).reshape(6, 8)
p, _ = acl.rt.malloc(6 * 16, 0)
acl.rt.memset(p, 96, 255, 96)
print(acl.rt.memcpy2d(p, 16, a.ctypes.data, 8, 8, 6, 1))
whole = np.zeros((6, 16), np.uint8)
acl.rt.memcpy(whole.ctypes.data, 96, p, 96, 2)
print((whole[:, :8] == a).all(), set(whole[:, 8:].ravel()))
s, _ = acl.rt.create_stream()
back = np.zeros((6, 4), np.uint8)
print(
    acl.rt.memcpy2d_async(back.ctypes.data, 4, p + 2, 16, 4, 6, 2, s), acl.rt.synchronize_stream(s), (back == a[:, 2:6]).all()
)
print(
    acl.rt.memcpy2d(p, 8, a.ctypes.data, 8, 9, 6, 1),
    acl.rt.memcpy2d(p, 16, a.ctypes.data, 8, 8, 0, 1),
    acl.rt.memcpy2d(p, 16, a.ctypes.data, 8, 8, 6, 8),
)
print(acl.rt.memcpy2d(p, 1024, a.ctypes.data, 8, 8, 6, 1))  # the last row lies beyond the allocation
""",
    ) == ["0", "True {np.uint8(255)}", "0 0 True", "107000 0 100000", "107000"]


def test_registered_memory_is_pinned_and_can_be_used_by_the_device(start):
    assert said(
        start,
        """
a = np.full(4096, 5, np.uint8)
ptr = a.ctypes.data
d, ret = acl.rt.host_register(ptr, 4096, 0)
print(
    ret,
    acl.rt.host_register(ptr + 100, 8, 0)[1],
    acl.rt.pointer_get_attributes(ptr)[0]["location"],
    acl.rt.host_get_device_pointer(ptr, 0) == (d, 0),
)
p, _ = acl.rt.malloc(4096, 0)
print(acl.rt.memcpy(p, 4096, d, 4096, 3), acl.rt.memset(p, 4096, 9, 10), acl.rt.memcpy(d, 4096, p, 4096, 3), a[:12].tolist())
print(
    acl.rt.host_unregister(ptr),
    acl.rt.host_unregister(ptr),
    acl.rt.memcpy(d, 4096, p, 4096, 3),
    acl.rt.host_get_device_pointer(ptr, 0)[1],
)
print(
    acl.rt.host_register_v2(ptr, 4096, 0x10000000),
    acl.rt.host_get_device_pointer(ptr, 0)[1],
    acl.rt.host_unregister(ptr),
    acl.rt.host_register_v2(ptr, 4096, 1),
)
print(
    acl.rt.pointer_get_attributes(p),
    acl.rt.pointer_get_attributes(ptr)[0]["location"]["type"],
    acl.rt.pointer_get_attributes(0)[1],
)
""",
    ) == [
        "0 507910 {'id': 0, 'type': 0} True",
        "0 0 0 [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 5, 5]",
        "0 507911 507018 507911",
        "0 507911 0 100000",
        "({'location': {'id': 0, 'type': 1}, 'page_size': 4096, 'rsv': [0, 0, 0, 0]}, 0) 2 100000",
    ]


def test_an_asynchronous_copy_goes_by_its_addresses_where_both_are_known(start):
    """A synchronous one does not: there a mixed-up direction is an error."""
    assert said(
        start,
        """
h, _ = acl.rt.malloc_host(64)
p, _ = acl.rt.malloc(64, 0)
s, _ = acl.rt.create_stream()
acl.rt.memset(p, 64, 3, 64)
print(
    acl.rt.memcpy_async(h, 64, p, 64, 1, s),
    acl.rt.synchronize_stream(s),
    acl.util.ptr_to_bytes(h, 2),
    acl.rt.memcpy(h, 64, p, 64, 1),
)
print(
    acl.rt.memcpy_async(np.zeros(64, np.uint8).ctypes.data, 64, p, 64, 1, s),
    acl.rt.memcpy_async_with_condition(p, 64, h, 64, 1, s),
)
""",
    ) == ["0 0 b'\\x03\\x03' 507018", "507018 0"]


def test_a_copy_by_descriptor(start):
    assert said(
        start,
        """
a, _ = acl.rt.malloc(64, 0)
b, _ = acl.rt.malloc(64, 0)
s, _ = acl.rt.create_stream()
acl.rt.memset(a, 64, 4, 64)
size, ret = acl.rt.get_memcpy_desc_size(3)
d, _ = acl.rt.malloc(size, 0)
print(
    ret,
    acl.rt.get_memcpy_desc_size(1)[1],
    acl.rt.memcpy_async_with_desc(d, 3, s),
    acl.rt.set_memcpy_desc(d, 3, a, b, 64, 0) == (d, 0),
)
print(acl.rt.memcpy_async_with_desc(d, 3, s), acl.rt.synchronize_stream(s))
h, _ = acl.rt.malloc_host(64)
acl.rt.memcpy(h, 64, b, 64, 2)
print(set(acl.util.ptr_to_bytes(h, 64)))
""",
    ) == ["0 100000 100000 True", "0 0", "{4}"]


def test_values_are_written_and_awaited_in_memory(start):
    assert said(
        start,
        """
flag, _ = acl.rt.malloc(8, 0)
acl.rt.memset(flag, 8, 0, 8)
a, _ = acl.rt.create_stream()
b, _ = acl.rt.create_stream()
e, _ = acl.rt.create_event()
n = 32 << 20
p, _ = acl.rt.malloc(n, 0)
h, _ = acl.rt.malloc_host(n)
print(
    acl.rt.value_wait(flag, 5, 1, b),
    acl.rt.record_event(e, b),
    acl.rt.value_write(flag, 3, 0, a),
    acl.rt.query_event_status(e),
)
acl.rt.memcpy_async(p, n, h, n, 1, a)
print(acl.rt.value_write(flag, 5, 0, a), acl.rt.synchronize_stream(b), acl.rt.stream_query(a), acl.rt.query_event_status(e))
print(acl.rt.value_wait(flag, 5, 7, b), acl.rt.value_write(flag, 5, 1, b), acl.rt.value_wait(h, 5, 0, b))
for condition, value in ((0, 4), (2, 1), (3, 1)):
    acl.rt.value_wait(flag, value, condition, b)
print(acl.rt.synchronize_stream(b), acl.rt.cmo_async(p, n, 0, a), acl.rt.cmo_async(p, n, 4, a), acl.rt.synchronize_stream(a))
""",
    ) == ["0 0 0 (0, 0)", "0 0 (0, 0) (1, 0)", "100000 100000 507018", "0 0 100000 0"]


def test_reductions_into_a_buffer(start):
    assert said(
        start,
        """
s, _ = acl.rt.create_stream()
def run(kind, number, a, b):
    p, _ = acl.rt.malloc(a.nbytes, 0)
    q, _ = acl.rt.malloc(a.nbytes, 0)
    acl.rt.memcpy(p, a.nbytes, a.ctypes.data, a.nbytes, 1)
    acl.rt.memcpy(q, b.nbytes, b.ctypes.data, b.nbytes, 1)
    ret = acl.rt.reduce_async(p, q, a.nbytes, kind, number, s, 0)
    acl.rt.synchronize_stream(s)
    out = np.zeros_like(a)
    acl.rt.memcpy(out.ctypes.data, a.nbytes, p, a.nbytes, 2)
    return ret, out.tolist()
f = lambda *v: np.array(v, np.float32)
print(
    run(10, 0, f(1, 2, 3), f(10, 20, 30)),
    run(11, 0, f(1, 20), f(10, 2)),
    run(12, 3, np.array([4, -4], np.int32), np.array([-1, 1], np.int32)),
)
print(run(10, 27, np.array([0x3F80, 0x4000], np.uint16), np.array([0x3F80, 0x3F80], np.uint16)))  # bfloat16: 1 + 1, 2 + 1
print(run(13, 0, f(1), f(1))[0], run(10, 11, f(1), f(1))[0])
""",
    ) == [
        "(0, [11.0, 22.0, 33.0]) (0, [10.0, 20.0]) (0, [-1, -4])",
        "(0, [16384, 16448])",
        "207000 100000",
    ]


def test_addresses_and_physical_memory_apart(start):
    """Two pieces mapped behind each other are one range; the same physical memory at two addresses is the same memory."""
    assert said(
        start,
        """
MB = 1 << 20
where = {"handleType": 0, "allocationType": 0, "memAttr": 1, "location": {"id": 0, "type": 1}, "reserve": 0}
unit, ret = acl.rt.mem_get_allocation_granularity(where, 0)
va, r1 = acl.rt.reserve_mem_address(8 * MB, 0, 0, 0)
free = acl.rt.get_mem_info(1)[0]
a, r2 = acl.rt.malloc_physical(2 * MB, where, 0)
b, r3 = acl.rt.malloc_physical(2 * MB, where, 0)
print(unit == 2 * MB, ret, r1, r2, r3, free - acl.rt.get_mem_info(1)[0] == 4 * MB)
data = np.arange(3 * MB, dtype=np.uint8)
print(
    acl.rt.memcpy(va, 3 * MB, data.ctypes.data, 3 * MB, 1),
    acl.rt.map_mem(va, 2 * MB, 0, a, 0),
    acl.rt.map_mem(va + 2 * MB, 2 * MB, 0, b, 0),
    acl.rt.map_mem(va, 2 * MB, 0, b, 0),
    acl.rt.memcpy(va, 3 * MB, data.ctypes.data, 3 * MB, 1),
)
print(acl.rt.map_mem(va + 6 * MB, 2 * MB, 0, a, 0), acl.rt.map_mem(va + 7 * MB, 2 * MB, 0, a, 0))
out = np.zeros(4, np.uint8)
acl.rt.memcpy(out.ctypes.data, 4, va + 6 * MB + 5, 4, 2)
print(out.tolist())
acl.rt.memset(va + 6 * MB, 4, 9, 4)
acl.rt.memcpy(out.ctypes.data, 4, va, 4, 2)
print(out.tolist())
print(
    acl.rt.free(va),
    acl.rt.free_physical(a),
    acl.rt.unmap_mem(va),
    acl.rt.unmap_mem(va),
    acl.rt.memcpy(out.ctypes.data, 4, va, 4, 2),
    acl.rt.release_mem_address(va),
)
print(
    acl.rt.unmap_mem(va + 2 * MB),
    acl.rt.unmap_mem(va + 6 * MB),
    acl.rt.free_physical(a),
    acl.rt.free_physical(b),
    acl.rt.release_mem_address(va),
    acl.rt.get_mem_info(1)[0] == free,
)
print(
    acl.rt.malloc_physical(2 * MB, {"location": {"id": 0, "type": 0}}, 0)[1],
    acl.rt.malloc_physical(3, where, 0)[1],
    acl.rt.malloc_physical(64 << 30, where, 0)[1],
)
""",
    ) == [
        "True 0 0 0 0 True",
        "507018 0 0 100000 0",
        "0 100000",
        "[5, 6, 7, 8]",
        "[9, 9, 9, 9]",
        "207002 100000 0 100000 507018 100000",
        "0 0 0 0 0 True",
        "207000 100000 507011",
    ]


def test_configured_allocations(start):
    assert said(
        start,
        """
good = {"numAttrs": 1, "attrs": [{"attr": 1, "value": {"moduleId": 33}}]}
print([acl.rt.malloc_with_cfg(64, 0, c)[1] for c in ({}, good, {"numAttrs": 2, "attrs": []}, {"attrs": [{"attr": 9}]})])
print(
    acl.rt.malloc_for_task_scheduler(64, 0, {})[1],
    acl.rt.malloc_host_with_cfg(64, good)[1],
    acl.rt.malloc(0, 0)[1],
    acl.rt.malloc(64, 77)[1],
)
p, _ = acl.rt.malloc_cached(64, 2)
print(acl.rt.mem_flush(p, 64), acl.rt.mem_invalidate(p, 4096), acl.rt.mem_flush(0, 1))
""",
    ) == ["[0, 0, 100000, 100000]", "0 0 100000 100000", "0 107000 507018"]


def test_memory_of_every_kind_is_told(start):
    assert said(
        start,
        """
total = acl.rt.get_mem_info(1)[1]
p, _ = acl.rt.malloc(100 << 20, 1)
print(
    [acl.rt.get_mem_info(a)[2] for a in range(19)],
    acl.rt.get_mem_info(18)[:2],
    total - acl.rt.get_mem_info(1)[0] >> 20,
    acl.rt.get_mem_info(4)[0] % (2 << 20),
)
acl.rt.reset_device(0)
print(acl.rt.get_mem_info(1))
""",
    ) == ["[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] (0, 0) 102 0", "(0, 0, 107002)"]


def test_a_copy_queued_before_its_host_memory_is_freed_does_no_harm(start):
    assert said(
        start,
        """
n = 32 << 20
h, _ = acl.rt.malloc_host(n)
p, _ = acl.rt.malloc(n, 0)
s, _ = acl.rt.create_stream()
import ctypes
ctypes.memset(h, 6, n)
acl.rt.memcpy_async(p, n, h, n, 1, s)
print(acl.rt.free_host(h), acl.rt.free_host(h), acl.rt.synchronize_stream(s))
k, _ = acl.rt.malloc_host(1)
acl.rt.memcpy(k, 1, p + n - 1, 1, 2)
print(acl.util.ptr_to_bytes(k, 1))
""",
    ) == ["0 100000 0", "b'\\x06'"]


def test_what_runs_over_the_end_of_page_locked_memory_is_a_code_and_no_crash(start):
    """Beyond its last page lies what the host put there, or nothing; sizes no host has are refused as no memory."""
    assert said(
        start,
        """
import ctypes, mmap
hole = mmap.mmap(-1, 3 * mmap.PAGESIZE)
begin = ctypes.addressof(ctypes.c_char.from_buffer(hole))
libc = ctypes.CDLL(None)
libc.munmap(ctypes.c_void_p(begin + mmap.PAGESIZE), ctypes.c_size_t(mmap.PAGESIZE))
n = 2 * mmap.PAGESIZE
p, _ = acl.rt.malloc(n, 0)
s, _ = acl.rt.create_stream()
print(acl.rt.host_register(begin, 64, 0)[1], acl.rt.memcpy(p, n, begin, 64, 1), acl.rt.memcpy(p, n, begin, n, 1))
print(acl.rt.memcpy(begin, n, p, n, 2), acl.rt.memcpy_async(p, n, begin, n, 1, s), acl.rt.memset(begin, n, 0, n))
h, _ = acl.rt.malloc_host(64)
big = 64 << 20
q, _ = acl.rt.malloc(big, 0)
print(acl.rt.memcpy(q, big, h, big, 1), acl.rt.memcpy_async(h, big, q, big, 2, s), acl.rt.synchronize_stream(s))
print([acl.rt.malloc_host(size)[1] for size in (1 << 62, -1)], acl.op.load(h, -1), acl.mdl.load_from_mem(h, 1 << 63)[1])
try:
    acl.util.ptr_to_bytes(h, 1 << 50)
except ValueError as error:
    print(str(error).partition(" at ")[0])
""",
    ) == [
        "0 0 107000",
        "107000 107000 107000",
        "107000 0 107000",
        "[207001, 207001] 207001 207001",
        "acl.util.ptr_to_bytes: no readable host memory",
    ]
