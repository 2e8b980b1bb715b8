"""acl.rt: host functions called by streams, the thread that polls for them, and news of failed tasks."""

from __future__ import annotations

import pytest

from tests.scripts.acl_script import said

pytestmark = pytest.mark.slow  # many starts of programs

POLL = """
import threading, time
running = True
def poll(args):
    acl.rt.set_context(args[0])
    while running:
        acl.rt.process_report(args[1])
context, _ = acl.rt.get_context()
tid, ret = acl.util.start_thread(poll, [context, 100])
s, _ = acl.rt.create_stream()
"""


def test_callbacks_run_in_the_report_thread_in_the_streams_order(start):
    assert said(
        start,
        POLL
        + """
print(ret, acl.rt.launch_callback(print, 1, 0, s), acl.rt.subscribe_report(tid, s), acl.rt.subscribe_report(tid, s))
seen = []
def note(data):
    seen.append((data, threading.get_ident() == tid))
for n in range(3):
    print(acl.rt.launch_callback(note, n, 1, s), end=" ")
print(acl.rt.synchronize_stream(s), seen)
print(
    acl.rt.unsubscribe_report(tid, s),
    acl.rt.unsubscribe_report(tid, s),
    acl.rt.launch_callback(note, 9, 1, s),
    acl.rt.launch_callback(note, 9, 7, s),
)
running = False
print(acl.util.stop_thread(tid))
""",
    ) == ["0 107015 0 107011", "0 0 0 0 [(0, True), (1, True), (2, True)]", "0 107012 107015 100000", "0"]


def test_a_blocking_callback_holds_its_stream_the_other_kind_does_not(start):
    body = (
        POLL
        + """
acl.rt.subscribe_report(tid, s)
done = []
def slow(data):
    time.sleep(0.25)
    done.append(data)
n = 4096
p, _ = acl.rt.malloc(n, 0)
e, _ = acl.rt.create_event()
f, _ = acl.rt.create_event()
acl.rt.record_event(e, s)
acl.rt.launch_callback(slow, 1, BLOCK, s)
acl.rt.memset_async(p, n, 1, n, s)
acl.rt.record_event(f, s)
print(acl.rt.synchronize_stream(s), len(done))
ms, _ = acl.rt.event_elapsed_time(e, f)
print(ms > 250, ms < 50)
while not done:
    acl.rt.stream_query(s)
running = False
acl.util.stop_thread(tid)
print(done)
"""
    )
    assert said(start, body.replace("BLOCK", "1")) == ["0 1", "True False", "[1]"]
    assert said(start, body.replace("BLOCK", "0"))[1:] == ["False True", "[1]"]


def test_callbacks_call_acl_themselves_and_their_exceptions_are_swallowed(start):
    assert said(
        start,
        POLL
        + """
acl.rt.subscribe_report(tid, s)
got = []
def copy(args):
    acl.rt.memcpy(args[0], 8, args[1], 8, 2)
    got.append(acl.util.ptr_to_bytes(args[0], 8))
    raise ValueError("lost")
p, _ = acl.rt.malloc(8, 0)
h, _ = acl.rt.malloc_host(8)
acl.rt.memset_async(p, 8, 5, 8, s)
acl.rt.launch_callback(copy, [h, p], 1, s)
print(acl.rt.synchronize_stream(s), got)
running = False
print(acl.util.stop_thread(tid))
""",
    ) == ["0 [b'\\x05\\x05\\x05\\x05\\x05\\x05\\x05\\x05']", "0"]


def test_polling_without_a_subscription_and_without_work(start):
    assert said(
        start,
        """
import threading, time
print(acl.rt.process_report(10), acl.rt.process_report(-2))
s, _ = acl.rt.create_stream()
acl.rt.subscribe_report(threading.get_ident(), s)
begun = time.perf_counter()
print(acl.rt.process_report(30), acl.rt.process_report(-2), time.perf_counter() - begun < 0.001)
acl.rt.launch_callback(print, "here", 0, s)
print(acl.rt.process_report(1000), acl.rt.process_report(0))
print(acl.get_recent_err_msg().splitlines()[0])
""",
    ) == [
        "107012 107012",
        "507012 100000 True",
        "here",
        "0 507012",
        "aclrtProcessReport failed, error code 507012, cause report_deadlock: No callback can come: every other thread "
        "waits, and no stream holds one.",
    ]


@pytest.mark.slow
def test_a_polling_thread_does_not_run_the_clock_away(start):
    """It polls with long time-outs while the main thread works in short steps: the main thread's device section stays short."""
    assert said(
        start,
        POLL.replace("100])", "2000])")
        + """
acl.rt.subscribe_report(tid, s)
t, _ = acl.rt.create_stream()
e, _ = acl.rt.create_event()
f, _ = acl.rt.create_event()
p, _ = acl.rt.malloc(4096, 0)
import hashlib
acl.rt.record_event(e, t)
for n in range(40):
    acl.rt.memset_async(p, 4096, n, 4096, t)
    hashlib.sha256(b"x" * 200_000).digest()
    if n % 10 == 0:
        acl.rt.synchronize_stream(t)
acl.rt.record_event(f, t)
acl.rt.synchronize_stream(t)
print(acl.rt.event_elapsed_time(e, f)[0] < 1)
acl.rt.launch_callback(lambda d: None, 0, 1, s)
print(acl.rt.synchronize_stream(s))
running = False
print(acl.util.stop_thread(tid))
""",
    ) == ["True", "0", "0"]


def test_several_streams_of_one_thread_and_threads_of_pythons_own(start):
    assert said(
        start,
        """
import threading
a, _ = acl.rt.create_stream()
b, _ = acl.rt.create_stream()
context, _ = acl.rt.get_context()
stop = threading.Event()
seen = []
def poll():
    acl.rt.set_context(context)
    while not stop.is_set():
        acl.rt.process_report(50)
thread = threading.Thread(target=poll)
thread.start()
print(acl.rt.subscribe_report(thread.ident, a), acl.rt.subscribe_report(thread.ident, b))
for n in range(4):
    acl.rt.launch_callback(seen.append, n, 1, (a, b)[n % 2])
print(acl.rt.synchronize_device(), sorted(seen))
stop.set()
thread.join(10)
print(thread.is_alive())
""",
    ) == ["0 0", "0 [0, 1, 2, 3]", "False"]


def test_failed_tasks_are_told_to_the_exception_callback(start):
    assert said(
        start,
        """
s, _ = acl.rt.create_stream()
e, _ = acl.rt.create_event()
heard = []
def hear(info):
    heard.append(
        [
            acl.rt.get_error_code_from_exception_info(info),
            acl.rt.get_device_id_from_exception_info(info),
            acl.rt.get_stream_id_from_exception_info(info) == acl.rt.stream_get_id(s)[0],
        ]
    )
print(acl.rt.set_exception_info_callback(hear), acl.rt.get_task_id_from_exception_info(5) == 0xFFFFFFFF)
acl.rt.set_op_wait_timeout(1)
acl.rt.stream_wait_event(s, e)
print(acl.rt.synchronize_stream(s), heard)
print(acl.rt.set_exception_info_callback(None))
acl.rt.stream_wait_event(s, e)
print(acl.rt.synchronize_stream(s), len(heard))
""",
    ) == ["0 True", "107019 [[107019, 0, True]]", "0", "107019 1"]


def test_a_thread_functions_exception_is_raised_when_it_is_joined(start):
    assert said(
        start,
        """
def fail(args): raise KeyError(args[0])
tid, ret = acl.util.start_thread(fail, [7])
try:
    acl.util.stop_thread(tid)
except RuntimeError as error:
    print(ret, error)
print(acl.util.stop_thread(tid), acl.util.start_thread(lambda: None, None)[1])
""",
    ) == ["0 exception=KeyError,msg=thread call failed;", "3 0"]
