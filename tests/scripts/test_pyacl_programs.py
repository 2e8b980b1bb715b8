"""Whole programs in the style of public samples that run no model: classes that own resources, run-mode tests, old and new ways to
bytes. Each checks its own results and ends with nothing held."""

from __future__ import annotations

import pytest

from tests.scripts.lite import ran

pytestmark = pytest.mark.slow  # many starts of programs


def test_a_device_query(start):
    assert ran(
        start,
        """
        print(acl.get_soc_name(), acl.rt.get_run_mode()[0] == 1)
        check_ret("init", acl.init(""))
        count, ret = acl.rt.get_device_count()
        check_ret("count", ret)
        for device in range(count):
            check_ret("set_device", acl.rt.set_device(device))
            free, total, ret = acl.rt.get_mem_info(1)
            stream, ret = acl.rt.create_stream()
            print(
                device,
                acl.rt.get_device(),
                total >> 30,
                free == total,
                acl.rt.stream_get_id(stream)[1],
                acl.rt.get_device_info(device, 101),
                acl.rt.reset_device(device),
            )
        major, minor, patch, ret = acl.rt.get_version() if hasattr(acl.rt, "get_version") else acl.get_version()
        print(major >= 1, acl.app_log(1, "queried"), acl.finalize())
    """,
        NPU_DEVICES="2",
    ) == ["Ascend910B3 True", *(f"{d} ({d}, 0) 60 True 0 (20, 0) 0" for d in range(2)), "True None 0"]


def test_a_tour_of_memory(start):
    """Allocate, fill, copy in three directions, compare; variable sizes; every allocation is given back."""
    assert ran(
        start,
        """
        resource = Resource()
        before = acl.rt.get_mem_info(1)[0]
        rng = np.random.default_rng(0)
        for size in (1, 31, 4096, (1 << 20) + 7, 8 << 20):
            source = rng.integers(0, 256, size, dtype=np.uint8)
            host, ret = acl.rt.malloc_host(size)
            check_ret("malloc_host", ret)
            one, ret = acl.rt.malloc(size, 0)
            check_ret("malloc", ret)
            two, ret = acl.rt.malloc(size, 2)
            check_ret("malloc", ret)
            check_ret("h2h", acl.rt.memcpy(host, size, to_ptr(source), size, 0))
            check_ret("h2d", acl.rt.memcpy(one, size, host, size, 1))
            check_ret("d2d", acl.rt.memcpy(two, size, one, size, 3))
            check_ret("memset", acl.rt.memset(one, size, 0, size))
            target = np.zeros(size, np.uint8)
            check_ret("d2h", acl.rt.memcpy(acl.util.numpy_to_ptr(target), size, two, size, 2))
            print(size, (target == source).all(), acl.rt.free(one), acl.rt.free(two), acl.rt.free_host(host))
        print(before == acl.rt.get_mem_info(1)[0])
    """,
    ) == [*(f"{n} True 0 0 0" for n in (1, 31, 4096, (1 << 20) + 7, 8 << 20)), "True"]


def test_streams_and_events_overlap_copy_and_compute(start):
    """Double buffering: the copy of the next block runs beside the work on this one, ordered by events; device time says so."""
    assert ran(
        start,
        """
        resource = Resource()
        n, blocks = 8 << 20, 8
        copying, ret = acl.rt.create_stream()
        computing, ret = acl.rt.create_stream()
        host, ret = acl.rt.malloc_host(n)
        buffers = [acl.rt.malloc(n, 0)[0] for _ in range(2)]
        out, ret = acl.rt.malloc(n, 0)
        ready, used = ([acl.rt.create_event_with_flag(8)[0] for _ in range(2)] for _ in range(2))
        begin, end = (acl.rt.create_event()[0] for _ in range(2))
        def run(copy, compute):
            check_ret("record", acl.rt.record_event(begin, copy))
            for block in range(blocks):
                k = block % 2
                if block > 1:
                    check_ret("wait", acl.rt.stream_wait_event(copy, used[k]))
                check_ret("copy", acl.rt.memcpy_async(buffers[k], n, host, n, 1, copy))
                check_ret("record", acl.rt.record_event(ready[k], copy))
                check_ret("wait", acl.rt.stream_wait_event(compute, ready[k]))
                for _ in range(12):
                    check_ret("work", acl.rt.memcpy_async(out, n, buffers[k], n, 3, compute))
                check_ret("record", acl.rt.record_event(used[k], compute))
            check_ret("record", acl.rt.record_event(end, compute))
            check_ret("sync", acl.rt.synchronize_stream(compute))
            ms, ret = acl.rt.event_elapsed_time(begin, end)
            check_ret("elapsed", ret)
            return ms
        one = run(copying, copying)
        two = run(copying, computing)
        print(one / two > 1.2, two < one)
        for thing in (*ready, *used, begin, end):
            check_ret("destroy", acl.rt.destroy_event(thing))
        for thing in (copying, computing):
            check_ret("destroy", acl.rt.destroy_stream(thing))
    """,
        NPU_CLOCK="model",
    ) == ["True True"]


def test_a_single_operator_program(start):
    """Descriptions, buffers, attributes, execute, compare with numpy, release."""
    assert ran(
        start,
        """
        resource = Resource()
        a, b = (np.random.default_rng(n).standard_normal((16, 32)).astype(np.float32) for n in range(2))
        def on_device(array):
            p, ret = acl.rt.malloc(array.nbytes, 0)
            check_ret("malloc", ret)
            check_ret("memcpy", acl.rt.memcpy(p, array.nbytes, to_ptr(array), array.nbytes, 1))
            return p
        descs = [acl.create_tensor_desc(0, [16, 32], 2) for _ in range(3)]
        memory = [on_device(x) for x in (a, b, a * 0)]
        buffers = [acl.create_data_buffer(p, a.nbytes) for p in memory]
        attr = acl.op.create_attr()
        check_ret("execute", acl.op.execute_v2("Add", descs[:2], buffers[:2], descs[2:], buffers[2:], attr, resource.stream))
        check_ret("sync", acl.rt.synchronize_stream(resource.stream))
        out = np.zeros_like(a)
        check_ret("memcpy", acl.rt.memcpy(acl.util.numpy_to_ptr(out), out.nbytes, memory[2], out.nbytes, 2))
        print(np.array_equal(out, a + b))
        print(
            [acl.destroy_data_buffer(x) for x in buffers],
            [acl.destroy_tensor_desc(x) for x in descs],
            acl.op.destroy_attr(attr),
            [acl.rt.free(p) for p in memory],
        )
    """,
    ) == ["True", "[0, 0, 0] [None, None, None] None [0, 0, 0]"]
