"""acl.rt: streams with their attributes, events, notifies, time-outs."""

from __future__ import annotations

from tests.scripts.acl_script import said


def test_streams_have_priority_flags_and_attributes(start):
    assert said(
        start,
        """
print(acl.rt.device_get_stream_priority_range())
s, ret = acl.rt.create_stream_with_config(3, 0x5)
print(ret, acl.rt.create_stream_with_config(8, 0)[1], acl.rt.create_stream_with_config(0, 0x100)[1])
print(
    acl.rt.set_stream_attribute(s, 3, {"userCustomTag": 77}),
    acl.rt.get_stream_attribute(s, 3),
    acl.rt.set_stream_attribute(s, 1, {"failureMode": 1}),
    acl.rt.get_stream_attribute(s, 1),
    acl.rt.get_stream_attribute(s, 9)[1],
    acl.rt.set_stream_attribute(s, 3, {"failureMode": 1}),
    acl.rt.set_stream_failure_mode(0, 1),
)
n = acl.rt.get_stream_available_num()[0]
t, _ = acl.rt.create_stream()
print(n - acl.rt.get_stream_available_num()[0], acl.rt.destroy_stream(t), n - acl.rt.get_stream_available_num()[0])
""",
    ) == ["(7, 0, 0)", "0 100000 100000", "0 ({'userCustomTag': 77}, 0) 0 ({'failureMode': 1}, 0) 100000 100000 100000", "1 0 0"]


def test_streams_run_out(start):
    assert said(
        start,
        """
codes = [acl.rt.create_stream()[1] for _ in range(2049)]
print(codes.count(0), codes[-1])
print(acl.rt.get_stream_available_num())
""",
    ) == ["2048 207008", "(0, 0)"]


def test_aborting_a_stream_forgets_its_work_and_leaves_it_usable(start):
    assert said(
        start,
        """
n = 64 << 20
p, _ = acl.rt.malloc(n, 0)
h, _ = acl.rt.malloc_host(n)
s, _ = acl.rt.create_stream()
e, _ = acl.rt.create_event()
acl.rt.memset(p, n, 1, n)
import ctypes
ctypes.memset(h, 2, n)
acl.rt.memcpy_async(p, n, h, n, 1, s)
acl.rt.record_event(e, s)
print(acl.rt.stream_abort(s), acl.rt.stream_query(s), acl.rt.synchronize_stream(s), acl.rt.query_event_status(e))
k, _ = acl.rt.malloc_host(1)
acl.rt.memcpy(k, 1, p, 1, 2)
print(acl.util.ptr_to_bytes(k, 1))
acl.rt.memcpy_async(p, n, h, n, 1, s)
print(acl.rt.synchronize_stream(s))
acl.rt.memcpy(k, 1, p, 1, 2)
print(acl.util.ptr_to_bytes(k, 1))
acl.rt.memcpy_async(p, n, h, n, 1, s)
print(acl.rt.device_task_abort(0, 100), acl.rt.stream_query(s), acl.rt.destroy_stream_force(s), acl.rt.stream_query(s)[1])
""",
    ) == ["0 (0, 0) 0 (0, 0)", "b'\\x01'", "0", "b'\\x02'", "0 (0, 0) 0 107017"]


def test_a_stream_that_stops_on_failure_does_nothing_afterwards(start):
    body = """
s, _ = acl.rt.create_stream()
e, _ = acl.rt.create_event()
p, _ = acl.rt.malloc(8, 0)
acl.rt.memset(p, 8, 1, 8)
acl.rt.set_stream_failure_mode(s, MODE)
acl.rt.set_op_wait_timeout(1)
acl.rt.stream_wait_event(s, e)
acl.rt.memset_async(p, 8, 2, 8, s)
print(acl.rt.synchronize_stream(s), acl.rt.synchronize_stream(s))
k, _ = acl.rt.malloc_host(1)
acl.rt.memcpy(k, 1, p, 1, 2)
print(acl.util.ptr_to_bytes(k, 1))
"""
    assert said(start, body.replace("MODE", "0")) == ["107019 0", "b'\\x02'"]
    assert said(start, body.replace("MODE", "1")) == ["107019 107019", "b'\\x01'"]


def test_waiting_for_an_event_ends_at_the_operator_wait_timeout(start):
    assert said(
        start,
        """
import time
s, _ = acl.rt.create_stream()
e, _ = acl.rt.create_event()
acl.rt.set_op_wait_timeout(3)
acl.rt.stream_wait_event(s, e)
begun = time.perf_counter()
print(acl.rt.synchronize_stream(s), round(time.perf_counter() - begun, 3), acl.rt.query_event_wait_status(e))
print(acl.get_recent_err_msg())
""",
    ) == [
        "107019 3.0 (0, 0)",
        "aclrtSynchronizeStream failed, error code 107019, cause wait_timeout: A task waited longer than "
        "the 3000000 us allowed for it.",
    ]


def test_operator_time_outs_are_kept_and_read_back(start):
    assert said(
        start,
        """
print(
    acl.rt.get_op_execute_timeout(),
    acl.rt.set_op_execute_timeout_v2(2_500_000),
    acl.rt.get_op_execute_timeout(),
    acl.rt.set_op_execute_time_out(7),
    acl.rt.get_op_execute_timeout(),
    acl.rt.get_op_timeout_interval(),
)
""",
    ) == ["(0, 0) (2500000, 0) (2500, 0) 0 (7000, 0) (1000000, 0)"]


def test_event_flags_statuses_and_stamps(start):
    assert said(
        start,
        """
s, _ = acl.rt.create_stream()
plain, _ = acl.rt.create_event_with_flag(1)
timed, _ = acl.rt.create_event_with_flag(8)
ex, _ = acl.rt.create_event_ex_with_flag(9)
print(acl.rt.create_event_with_flag(0x100)[1], acl.rt.query_event_status(ex), acl.rt.query_event_wait_status(ex))
for e in (plain, timed, ex):
    acl.rt.record_event(e, s)
acl.rt.synchronize_stream(s)
print(
    acl.rt.event_elapsed_time(plain, timed)[1], acl.rt.event_elapsed_time(timed, ex)[1], acl.rt.event_get_timestamp(plain)[1]
)
a, b = acl.rt.event_get_timestamp(timed)[0], acl.rt.event_get_timestamp(ex)[0]
print(round((b - a) / 50, 1) == round(acl.rt.event_elapsed_time(timed, ex)[0] * 1000, 1), acl.rt.get_thread_last_task_id()[1])
n = acl.rt.get_event_avail_num()[0]
acl.rt.create_event()
print(n - acl.rt.get_event_avail_num()[0], acl.rt.reset_event(timed, s), acl.rt.event_elapsed_time(timed, ex)[1])
""",
    ) == ["100000 (0, 0) (0, 0)", "107006 0 107006", "True 0", "1 0 107006"]


def test_a_notify_is_set_waited_for_and_cleared(start):
    assert said(
        start,
        """
a, _ = acl.rt.create_stream()
b, _ = acl.rt.create_stream()
n, ret = acl.rt.create_notify(0)
m, _ = acl.rt.create_notify(0)
size = 16 << 20
p, _ = acl.rt.malloc(size, 0)
h, _ = acl.rt.malloc_host(size)
print(ret, acl.rt.create_notify(8)[1], acl.rt.get_notify_id(n), acl.rt.get_notify_id(m))
print(
    acl.rt.wait_and_reset_notify(n, b, 0),
    acl.rt.memcpy_async(p, size, h, size, 1, a),
    acl.rt.record_notify(n, a),
    acl.rt.stream_query(b),
)
print(acl.rt.synchronize_stream(b), acl.rt.stream_query(a))
acl.rt.wait_and_reset_notify(n, b, 50)  # it was cleared by the first wait
print(
    acl.rt.synchronize_stream(b),
    acl.rt.record_notify(n, a),
    acl.rt.synchronize_stream(a),
    acl.rt.notify_batch_reset([n, m]),
    acl.rt.notify_batch_reset([n, 1]),
)
acl.rt.wait_and_reset_notify(n, b, 50)
print(acl.rt.synchronize_stream(b), acl.rt.destroy_notify(n), acl.rt.destroy_notify(n))
""",
    ) == ["0 100000 (0, 0) (1, 0)", "0 0 0 (1, 0)", "0 (0, 0)", "107019 0 0 0 107017", "107019 0 107017"]


def test_higher_priorities_get_free_cores_first(start):
    """Two streams wait for the same cores; the one of lower number starts first although it was queued later."""
    assert said(
        start,
        """
low, _ = acl.rt.create_stream_with_config(7, 0)
high, _ = acl.rt.create_stream_with_config(0, 0)
first, _ = acl.rt.create_stream()
n = 4096
bufs = [acl.rt.malloc(n * n * 2, 0)[0] for _ in range(3)]
acl.rt.set_device(0)
import struct
one, _ = acl.rt.malloc(2, 0)
h = acl.util.bytes_to_ptr(np.array([1], np.float16).tobytes())
acl.rt.memcpy(one, 2, h, 2, 1)
def work(s):
    return acl.blas.hgemm(0, 0, 0, n, n, n, one, bufs[0], -1, bufs[1], -1, one, bufs[2], -1, 0, s)
ends = []
print(work(first))
for s in (low, high):
    e, _ = acl.rt.create_event()
    work(s)
    acl.rt.record_event(e, s)
    ends.append(e)
acl.rt.synchronize_device()
print(acl.rt.event_elapsed_time(ends[1], ends[0])[0] > 0.1)
""",
        NPU_COMPUTE="off",
    ) == ["0", "True"]
