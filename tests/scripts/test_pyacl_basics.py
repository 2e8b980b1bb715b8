"""Small pyACL scripts under `python -m npu`: returns, codes and data as on the device."""

from __future__ import annotations

from tests.scripts.conftest import Run

HEAD = """
import acl, numpy as np
acl.init(); acl.rt.set_device(0)
"""


def said(start: Run, body: str, **env: str) -> list[str]:
    ran = start("python", "-m", "npu", "script.py", script=HEAD.strip() + "\n" + body, env={"NPU_CLOCK": "model", **env})
    assert ran.code == 0, ran.err
    return ran.out.splitlines()


def test_bytes_go_to_the_device_and_come_back(start):
    assert said(start, """
a = np.arange(1000, dtype=np.float32)
p, ret = acl.rt.malloc(4000, 0)
print(ret, acl.rt.memcpy(p, 4000, acl.util.bytes_to_ptr(a.tobytes()), 4000, 1))
back = bytes(4000)
print(acl.rt.memcpy(acl.util.bytes_to_ptr(back), 4000, p, 4000, 2), (np.frombuffer(back, np.float32) == a).all())
print(acl.rt.free(p), acl.rt.free(p), acl.rt.reset_device(0), acl.finalize(), acl.finalize())
""") == ["0 0", "0 True", "0 207002 0 0 100037"]


def test_life_cycle_codes(start):
    ran = start("python", "-m", "npu", "script.py", script="""
import acl
print(acl.rt.get_run_mode(), acl.get_soc_name())
print(acl.init(), acl.init(""))
print(acl.rt.get_device(), acl.rt.set_device(8), acl.rt.set_device(7), acl.rt.get_device(), acl.rt.get_device_count())
""")
    assert ran.out.splitlines() == ["(1, 0) Ascend910B3", "0 100002", "(0, 107002) 107001 0 (7, 0) (8, 0)"]


def test_wrong_pointers_answer_codes_and_say_why(start):
    lines = said(start, """
p, _ = acl.rt.malloc(4000, 0)
h = acl.util.bytes_to_ptr(bytes(4000)); g = acl.util.bytes_to_ptr(bytes(5000))
print(acl.rt.memcpy(g, 4000, h, 4000, 1)); print(acl.get_recent_err_msg())
print(acl.rt.memcpy(p, 4000, p + 512, 4000, 3))
print(acl.rt.memcpy(p, 4000, p, 4000, 1), acl.rt.memcpy(p, 100, h, 4000, 1), acl.rt.memcpy(0, 4000, h, 4000, 1),
      acl.rt.memcpy(p, 4000, h, 4000, 9), acl.rt.memcpy(p, 4000, h, 0, 1), acl.rt.memcpy(p, 4000, 4096, 100, 1),
      acl.rt.memcpy(h, 4000, p, 4000, 1))
""")
    assert lines[0] == "507018"
    assert "107000" in lines[1] and "no live device allocation" in lines[1]
    assert lines[2] == "107000"  # reaches beyond its allocation
    assert lines[3] == "0 107000 100000 100000 0 107000 507018"


def test_the_header_table_gives_the_headers_codes(start):
    assert said(start, """
h = acl.util.bytes_to_ptr(bytes(4000)); g = acl.util.bytes_to_ptr(bytes(5000))
print(acl.rt.memcpy(g, 4000, h, 4000, 1), acl.rt.malloc(70 << 30, 0))
""", NPU_ERROR_TABLE="header") == ["107000 (0, 207001)"]


def test_a_synchronous_copy_does_not_wait_for_a_stream(start):
    """The articles' "read before synchronise": the bytes are the old ones until the stream has been waited for."""
    assert said(start, """
p, _ = acl.rt.malloc(1 << 24, 0)
h, _ = acl.rt.malloc_host(1 << 24)
import ctypes
acl.rt.memset(p, 1 << 24, 7, 1 << 24)
ctypes.memset(h, 9, 1 << 24)
s, _ = acl.rt.create_stream()
acl.rt.memcpy_async(p, 1 << 24, h, 1 << 24, 1, s)
one = bytes(1)
acl.rt.memcpy(acl.util.bytes_to_ptr(one), 1, p + 1000, 1, 2); print(one[0])
acl.rt.synchronize_stream(s)
two = bytes(1) + b""
two = bytearray(1); host, _ = acl.rt.malloc_host(1)
acl.rt.memcpy(host, 1, p + 1000, 1, 2); print(acl.util.ptr_to_bytes(host, 1)[0])
""") == ["7", "9"]


def test_pageable_memory_may_change_after_an_asynchronous_copy_was_queued_pinned_may_not(start):
    assert said(start, """
import ctypes
p, _ = acl.rt.malloc(1 << 20, 0); q, _ = acl.rt.malloc(1 << 20, 0)
s, _ = acl.rt.create_stream()
pageable = np.full(1 << 20, 1, np.uint8); pinned, _ = acl.rt.malloc_host(1 << 20)
ctypes.memset(pinned, 1, 1 << 20)
acl.rt.memcpy_async(p, 1 << 20, pageable.ctypes.data, 1 << 20, 1, s)
acl.rt.memcpy_async(q, 1 << 20, pinned, 1 << 20, 1, s)
pageable[:] = 2; ctypes.memset(pinned, 2, 1 << 20)
acl.rt.synchronize_stream(s)
out, _ = acl.rt.malloc_host(2)
acl.rt.memcpy(out, 1, p, 1, 2); acl.rt.memcpy(out + 1, 1, q, 1, 2)
print(list(acl.util.ptr_to_bytes(out, 2)))
""") == ["[1, 2]"]


def test_events_measure_device_time_and_order_streams(start):
    assert said(start, """
a, _ = acl.rt.create_stream(); b, _ = acl.rt.create_stream()
e, _ = acl.rt.create_event(); f, _ = acl.rt.create_event()
p, _ = acl.rt.malloc(1 << 26, 0); h, _ = acl.rt.malloc_host(1 << 26)
acl.rt.record_event(e, a); acl.rt.memcpy_async(p, 1 << 26, h, 1 << 26, 1, a); acl.rt.record_event(f, a)
acl.rt.stream_wait_event(b, f)
print(acl.rt.stream_query(b), acl.rt.query_event(f))
print(acl.rt.synchronize_stream(b), acl.rt.stream_query(a), acl.rt.query_event_status(f))
ms, ret = acl.rt.event_elapsed_time(e, f)
print(ret, 2.0 < ms < 8.0, acl.rt.event_elapsed_time(f, e)[1])
""") == ["(1, 0) (1, 0)", "0 (0, 0) (1, 0)", "0 True 107007"]


def test_a_wait_that_can_never_end_is_told_at_once(start):
    lines = said(start, """
s, _ = acl.rt.create_stream(); e, _ = acl.rt.create_event()
acl.rt.stream_wait_event(s, e)
print(acl.rt.synchronize_stream_with_timeout(s, 1000), acl.rt.synchronize_stream(s), acl.rt.synchronize_event(e))
print(acl.get_recent_err_msg())
""")
    assert lines[0] == "507046 507046 507047"
    assert "can never" in lines[1]


def test_arguments_are_checked_as_the_binding_does(start):
    assert said(start, """
for call in (lambda: acl.rt.malloc(4.0, 0), lambda: acl.rt.malloc(np.int64(4), 0), lambda: acl.rt.malloc(4), lambda: acl.init(None),
             lambda: acl.rt.malloc(size=4, policy=0)):
    try:
        call()
    except TypeError as error:
        print(error)
print(acl.rt.malloc(64, np.int32(0))[1], acl.rt.create_stream(0)[1], acl.rt.set_device(np.int64(0)))
import acl.rt
from acl import mdl
print(acl.rt is not None, hasattr(mdl, "execute"), hasattr(acl, "tdt"))
""") == ["acl.rt.malloc args parse failed"] * 3 + ["acl.init args parse failed",
        "build.<locals>.call() got an unexpected keyword argument 'size'".replace("build.<locals>.call", "malloc"), "0 0 0", "True True False"]


def test_the_scripts_own_clock_is_on_the_timeline(start):
    assert said(start, """
import time, datetime
t, d = time.time(), datetime.datetime.now()
begun = time.perf_counter(); time.sleep(3600); print(round(time.perf_counter() - begun, 6), round(time.time() - t), (datetime.datetime.now() - d).seconds)
p, _ = acl.rt.malloc(1 << 28, 0); h, _ = acl.rt.malloc_host(1 << 28)
begun = time.monotonic(); acl.rt.memcpy(p, 1 << 28, h, 1 << 28, 1); print(0.008 < time.monotonic() - begun < 0.03)
""") == ["3600.0 3600 3600", "True"]


def test_threads_each_have_their_own_clock_and_a_blocking_call_moves_only_its_own(start):
    assert said(start, """
import threading, time
h, _ = acl.rt.malloc_host(1 << 28)
spans = {}
def feed(n):
    acl.rt.set_device(0)
    s, _ = acl.rt.create_stream(); p, _ = acl.rt.malloc(1 << 28, 0)
    begun = time.perf_counter()
    if n == 0:
        time.sleep(0.5)
    acl.rt.memcpy_async(p, 1 << 28, h, 1 << 28, 1, s); acl.rt.synchronize_stream(s)
    spans[n] = time.perf_counter() - begun
threads = [threading.Thread(target=feed, args=(n,)) for n in range(2)]
[t.start() for t in threads]; [t.join() for t in threads]
print(spans[0] > 0.5, spans[1] < 0.1)
""", NPU_CLOCK="hybrid") == ["True True"]


def test_a_forked_child_starts_uninitialised(start):
    assert said(start, """
import os
if os.fork() == 0:
    print(acl.rt.get_device(), acl.init(), acl.rt.set_device(0), flush=True)
    os._exit(0)
os.wait()
print(acl.rt.get_device())
""") == ["(0, 107002) 0 0", "(0, 0)"]
