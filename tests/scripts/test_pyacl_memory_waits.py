"""Calls that map or unmap pages of a device wait for its work; others do not, and what is held back from outside is not waited for."""

from __future__ import annotations

import pytest

from tests.scripts.acl_script import said

pytestmark = pytest.mark.slow  # many starts of programs

HEAD = """
import threading, time
import acl
acl.init(); acl.rt.set_device(0)
n = 64 << 20
p, _ = acl.rt.malloc(n, 0)
h, _ = acl.rt.malloc_host(n)
s, _ = acl.rt.create_stream()
t, _ = acl.rt.create_stream()
e, _ = acl.rt.create_event()
acl.rt.memset(p, n, 0, n)
def took(call, *args):
    begun = time.perf_counter_ns()
    call(*args)
    return time.perf_counter_ns() - begun
def busy():
    acl.rt.memcpy_async(p, n, h, n, 1, s)
def alone():
    acl.rt.synchronize_device()
# The same calls with nothing to do: what they cost themselves. A copy of 64 MiB takes milliseconds.
"""


def test_malloc_and_free_wait_for_the_device_and_host_memory_does_not(start):
    assert said(
        start,
        """
for make, free, size in (
    (lambda z: acl.rt.malloc(z, 0), acl.rt.free, 4096),
    (lambda z: acl.rt.malloc(z, 0), acl.rt.free, 8 << 20),
    (lambda z: acl.rt.malloc_align32(z, 2), acl.rt.free, 4096),
    (acl.media.dvpp_malloc, acl.media.dvpp_free, 4096),
    (acl.rt.malloc_host, acl.rt.free_host, 4096),
):
    alone()
    idle = took(lambda: make(size))
    busy()
    loaded = took(lambda: make(size))
    ready = acl.rt.stream_query(s)[0] == 0
    alone()
    q, _ = make(size)
    bare = took(free, q)
    q, _ = make(size)
    busy()
    print(loaded - idle > 1_000_000, ready, took(free, q) - bare > 1_000_000, acl.rt.stream_query(s)[0] == 0)
""",
        head=HEAD,
    ) == ["True True True True"] * 4 + ["False False False False"]


def test_the_wait_ends_when_the_last_task_of_all_streams_has_ended(start):
    """The call ends where a synchronise would have ended, and two pages of 4 KiB for 4096 bytes and padding: 150 ns each."""
    assert said(
        start,
        """
busy(); acl.rt.memset_async(p, n, 1, n, t)
wait = took(alone)
busy(); acl.rt.memset_async(p, n, 1, n, t)
print(wait > 1_000_000, took(acl.rt.malloc, 4096, 0) - wait)
""",
        head=HEAD,
    ) == ["True 300"]


def test_map_and_unmap_wait(start):
    assert said(
        start,
        """
place = {"handleType": 0, "allocationType": 0, "memAttr": 1, "location": {"id": 0, "type": 1}, "reserve": 0}
a, _ = acl.rt.reserve_mem_address(2 << 20, 0, 0, 0)
ph, _ = acl.rt.malloc_physical(2 << 20, place, 0)
busy()
print(took(acl.rt.map_mem, a, 2 << 20, 0, ph, 0) > 1_000_000)
busy()
print(took(acl.rt.unmap_mem, a) > 1_000_000, acl.rt.free_physical(ph))
""",
        head=HEAD,
    ) == ["True", "True 0"]


def test_what_is_held_back_from_outside_is_not_waited_for(start):
    """A callback that holds its stream frees memory; a stream waits for a value that the host writes later."""
    assert said(
        start,
        """
going = True
def reports():
    acl.rt.set_device(0)
    while going:
        acl.rt.process_report(10)
worker = threading.Thread(target=reports)
worker.start()
acl.rt.subscribe_report(worker.ident, s)
codes = []
q, _ = acl.rt.malloc(4096, 0)
acl.rt.launch_callback(lambda pointer: codes.append(acl.rt.free(pointer)), q, 1, s)
print(acl.rt.synchronize_stream(s), codes)
going = False
worker.join()
flag, _ = acl.rt.malloc(8, 0)
acl.rt.memset(flag, 8, 0, 8)
acl.rt.value_wait(flag, 7, 0, t)
acl.rt.memset_async(p, n, 1, n, t)
print(acl.rt.malloc(4096, 0)[1], acl.rt.stream_query(t))
acl.rt.value_write(flag, 7, 0, s)
print(acl.rt.synchronize_stream(t))
""",
        head=HEAD,
    ) == ["0 [0]", "0 (1, 0)", "0"]


def test_the_wait_can_be_switched_off(start):
    """As the documentation of the vendor has it: no implicit wait."""
    assert said(
        start,
        """
idle = took(acl.rt.malloc, 4096, 0)
busy()
print(took(acl.rt.malloc, 4096, 0) == idle)
""",
        head=HEAD,
        NPU_MEMORY_WAIT="0",
    ) == ["True"]


def test_it_ends_where_a_synchronise_would_end_whatever_the_streams_wait_for(start):
    """Thirty programs of copies, fills, records and waits among four streams, each with either call at its end."""
    assert said(
        start,
        """
import random
streams = [acl.rt.create_stream()[0] for _ in range(4)]
def program(seed):
    rng, events = random.Random(seed), []
    for _ in range(rng.randint(3, 25)):
        stream, size = rng.choice(streams), rng.randint(1, 8) << 20
        what = rng.randrange(4)
        if what == 0:
            acl.rt.memcpy_async(p, size, h, size, 1, stream)
        elif what == 1:
            acl.rt.memset_async(p, size, 1, size, stream)
        elif what == 2 or not events:
            events.append(acl.rt.create_event()[0])
            acl.rt.record_event(events[-1], stream)
        else:
            acl.rt.stream_wait_event(stream, rng.choice(events))
    acl.rt.memcpy_async(p, n, h, n, 1, streams[0])
wrong = []
for seed in range(30):
    program(seed)
    sync = took(alone)
    program(seed)
    if took(acl.rt.malloc, 4096, 0) - sync != 300 or any(acl.rt.stream_query(one)[0] for one in streams):
        wrong.append(seed)
print(wrong)
""",
        head=HEAD,
    ) == ["[]"]
