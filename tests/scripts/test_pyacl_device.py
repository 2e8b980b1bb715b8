"""acl.rt and acl: what a device is and can, links between devices, switches and limits."""

from __future__ import annotations

import pytest

from tests.scripts.acl_script import said

pytestmark = pytest.mark.slow  # many starts of programs


def test_attributes_follow_the_chip_table(start):
    assert said(
        start,
        """
print([acl.rt.get_device_info(0, a) for a in (1, 101, 201, 204, 302, 402, 601)], acl.rt.get_device_info(0, 301))
print(
    acl.get_device_capability(0, 0),
    acl.get_device_capability(0, 1),
    acl.get_device_capability(0, 2),
    acl.get_device_capability(0, 9)[1],
)
print(
    acl.rt.get_device_info(9, 101)[1],
    acl.rt.get_device_info(0, 202)[1],
    acl.rt.get_device_capability(0, 1),
    acl.rt.query_device_status(3),
)
""",
    ) == [
        "[(6, 0), (20, 0), (40, 0), (196608, 0), (201326592, 0), (0, 0), (2201, 0)] (0, 0)",  # 64 GiB do not fit 32 bits
        "(20, 0) (40, 0) (201326592, 0) 100000",
        "107001 207000 (1, 0) (0, 0)",
    ]


def test_versions_and_attributes_of_the_toolkit(start):
    assert said(
        start,
        """
print(acl.get_version_str("runtime"), acl.get_version_str("nothing")[1], acl.get_version()[3])
facts, ret = acl.get_cann_version(7)
print(ret, facts["version"], facts["major_version"], sorted(facts))
print(acl.get_cann_attribute_list(), acl.get_cann_attribute(1), acl.get_cann_attribute(2)[1])
print(
    acl.float16_to_float(0x3C00),
    acl.float_to_float16(1.0),
    acl.float16_to_float(acl.float_to_float16(float("nan"))),
    acl.float_to_float16(1e9),
)
print([acl.data_type_size(t) for t in (0, 1, 9, 16, 17, 27, 12, 99)])
""",
    ) == [
        "('8.3.RC1', 0) 100000 0",
        "0 25.5.0 25 ['major_version', 'minor_version', 'patch_version', 'release_version', 'reserved', 'version']",
        "([0, 1], 2, 0) (1, 0) 100000",
        "1.0 15360 65504.0 31743",
        "[4, 2, 8, 8, 16, 2, 1, 0]",
    ]


def test_identity_and_ids_with_visible_devices(start):
    assert said(
        start,
        """
print(
    acl.rt.get_device_count(),
    acl.rt.get_logic_dev_id_by_user_dev_id(1),
    acl.rt.get_user_dev_id_by_logic_dev_id(5),
    acl.rt.get_user_dev_id_by_logic_dev_id(0)[1],
    acl.rt.get_phy_dev_id_by_logic_dev_id(5),
    acl.rt.get_logic_dev_id_by_phy_dev_id(16)[1],
)
one, other = acl.rt.device_get_uuid(0)[0]["bytes"], acl.rt.device_get_uuid(1)[0]["bytes"]
print(len(one), one == acl.rt.device_get_uuid(0)[0]["bytes"], one != other)
import os
print(acl.rt.device_get_bare_tgid() == (os.getpid(), 0), sorted(acl.rt.get_device_utilization_rate(0)[0]))
""",
        ASCEND_RT_VISIBLE_DEVICES="2,5",
    ) == [
        "(2, 0) (5, 0) (1, 0) 107001 (5, 0) 107001",
        "16 True True",
        "True ['aicpu_utilization', 'cube_utilization', 'memory_utilization', 'utilization_extend', 'vector_utilization']",
    ]


def test_a_copy_between_devices_needs_access_and_takes_the_link(start):
    assert said(
        start,
        """
print(acl.rt.get_devices_topo(0, 1), acl.rt.device_can_access_peer(0, 1), acl.rt.device_can_access_peer(0, 0))
n = 20_000_000
a, _ = acl.rt.malloc(n, 0)
acl.rt.memset(a, n, 7, n)
acl.rt.set_device(1)
b, _ = acl.rt.malloc(n, 0)
print(acl.rt.memcpy(b, n, a, n, 3))
print(acl.get_recent_err_msg())
print(
    acl.rt.device_peer_access_status(1, 0),
    acl.rt.device_enable_peer_access(0, 0),
    acl.rt.device_peer_access_status(1, 0),
    acl.rt.device_enable_peer_access(0, 1),
)
e, _ = acl.rt.create_event()
f, _ = acl.rt.create_event()
s, _ = acl.rt.create_stream()
acl.rt.record_event(e, s)
print(acl.rt.memcpy_async(b, n, a, n, 3, s))
acl.rt.record_event(f, s)
acl.rt.synchronize_stream(s)
print(acl.rt.event_elapsed_time(e, f))
h, _ = acl.rt.malloc_host(2)
acl.rt.memcpy(h, 2, b + n - 2, 2, 2)
print(acl.util.ptr_to_bytes(h, 2))
print(acl.rt.device_disable_peer_access(0), acl.rt.device_disable_peer_access(0), acl.rt.memcpy(b, n, a, n, 3))
""",
    ) == [
        "(1, 0) (1, 0) (0, 0)",
        "107000",
        "aclrtMemcpy failed, error code 107000, cause peer_access: Devices 0 and 1 have no access to each other: "
        "call acl.rt.device_enable_peer_access first.",
        "(0, 0) 0 (1, 0) 100000",
        "0",
        "(1.0092, 0)",  # launched 4.2 us after the record, which took 1; 5 us and 20 MB at 20 GB/s; 1 us of the second record
        "b'\\x07\\x07'",
        "0 100000 107000",
    ]


def test_an_event_orders_streams_of_two_devices(start):
    """The wait on the second device ends when the record on the first has happened, not before."""
    assert said(
        start,
        """
n = 64 << 20
a, _ = acl.rt.malloc(n, 0)
h, _ = acl.rt.malloc_host(n)
s, _ = acl.rt.create_stream()
e, _ = acl.rt.create_event()
first, _ = acl.rt.get_context()
acl.rt.set_device(1)
t, _ = acl.rt.create_stream()
f, _ = acl.rt.create_event()
acl.rt.stream_wait_event(t, e)
acl.rt.record_event(f, t)
acl.rt.set_context(first)
acl.rt.memcpy_async(a, n, h, n, 1, s)
acl.rt.record_event(e, s)
acl.rt.set_device(1)
print(acl.rt.synchronize_stream(t))
print(acl.rt.event_elapsed_time(e, f)[0] == 0.001)
""",
    ) == ["0", "True"]


def test_links_of_other_machines(start):
    body = "print(acl.rt.get_devices_topo(0, 1)[0], acl.rt.get_devices_topo(0, 2)[0], acl.rt.device_can_access_peer(0, 1)[0])"
    assert said(start, body, NPU_SOC="Ascend910_9382") == ["32 64 1"]
    assert said(start, body, NPU_SOC="Ascend310P3", NPU_DEVICES="4") == ["16 16 0"]


def test_system_parameters_are_unset_until_set(start):
    assert said(
        start,
        """
print(
    acl.rt.get_sys_param_opt(0), acl.rt.set_sys_param_opt(0, 1), acl.rt.get_sys_param_opt(0), acl.rt.set_sys_param_opt(9, 1)
)
print(acl.rt.ctx_get_sys_param_opt(0), acl.rt.ctx_set_sys_param_opt(0, -1), acl.rt.ctx_get_sys_param_opt(0))
print(
    acl.rt.get_device_sat_mode(), acl.rt.set_device_sat_mode(0), acl.rt.get_device_sat_mode(), acl.rt.set_device_sat_mode(5)
)
print(acl.rt.get_primary_ctx_state(0), acl.rt.get_primary_ctx_state(1), acl.rt.set_ts_device(0), acl.rt.set_ts_device(7))
""",
    ) == ["(0, 107021) 0 (1, 0) 100000", "(0, 107021) 0 (-1, 0)", "(1, 0) 0 (0, 0) 100000", "(1, 0, 0) (0, 0, 0) 0 100000"]


def test_core_limits_of_device_stream_and_thread(start):
    assert said(
        start,
        """
s, _ = acl.rt.create_stream()
print(
    acl.rt.get_device_res_limit(0, 0),
    acl.rt.get_device_res_limit(0, 1),
    acl.rt.set_device_res_limit(0, 0, 21),
    acl.rt.set_device_res_limit(0, 0, 12),
)
print(
    acl.rt.get_stream_res_limit(s, 0),
    acl.rt.set_stream_res_limit(s, 0, 4),
    acl.rt.get_stream_res_limit(s, 0),
    acl.rt.get_res_in_current_thread(0),
)
print(
    acl.rt.use_stream_res_in_current_thread(s),
    acl.rt.get_res_in_current_thread(0),
    acl.rt.unuse_stream_res_in_current_thread(s),
    acl.rt.get_res_in_current_thread(0),
)
print(
    acl.rt.reset_stream_res_limit(s),
    acl.rt.get_stream_res_limit(s, 0),
    acl.rt.reset_device_res_limit(0),
    acl.rt.get_device_res_limit(0, 0),
)
""",
    ) == ["(20, 0) (40, 0) 100000 0", "(12, 0) 0 (4, 0) (12, 0)", "0 (4, 0) 0 (12, 0)", "0 (12, 0) 0 (20, 0)"]


def test_the_last_error_is_the_threads_and_reading_clears_it(start):
    assert said(
        start,
        """
import threading
acl.rt.free(0)
print(acl.rt.peek_at_last_error(0), acl.rt.peek_at_last_error(0), acl.rt.get_last_error(0), acl.rt.get_last_error(0))
acl.rt.free(0)
t = threading.Thread(target=lambda: print(acl.rt.peek_at_last_error(0)))
t.start()
t.join()
""",
    ) == ["100000 100000 100000 0", "0"]


def test_overflow_status_and_switch(start):
    assert said(
        start,
        """
s, _ = acl.rt.create_stream()
p, _ = acl.rt.malloc(64, 0)
acl.rt.memset(p, 64, 9, 64)
print(acl.rt.set_stream_overflow_switch(s, 1), acl.rt.get_stream_overflow_switch(s), acl.rt.set_stream_overflow_switch(s, 2))
print(
    acl.rt.get_overflow_status(p, 32, s),
    acl.rt.get_overflow_status(p, 64, s),
    acl.rt.reset_overflow_status(s),
    acl.rt.synchronize_stream(s),
)
h, _ = acl.rt.malloc_host(64)
acl.rt.memcpy(h, 64, p, 64, 2)
print(set(acl.util.ptr_to_bytes(h, 64)))
""",
    ) == ["0 (1, 0) 100000", "107000 0 0 0", "{0}"]


def test_an_allocator_wants_all_its_parts(start):
    assert said(
        start,
        """
s, _ = acl.rt.create_stream()
d = acl.rt.allocator_create_desc()
print(
    acl.rt.allocator_register(s, d),
    acl.rt.allocator_set_obj_to_desc(d, 1),
    acl.rt.allocator_set_alloc_func_to_desc(d, len),
    acl.rt.allocator_set_free_func_to_desc(d, len),
    acl.rt.allocator_register(s, d),
    acl.rt.allocator_unregister(s),
    acl.rt.allocator_unregister(s),
    acl.rt.allocator_destroy_desc(d),
    acl.rt.allocator_destroy_desc(d),
)
""",
    ) == ["100000 0 0 0 0 0 100000 0 107017"]


def test_init_again_with_another_configuration(start):
    assert said(
        start,
        """
open("a.json", "w").write("{}")
open("b.json", "w").write('{"dump": {}}')
open("c.json", "w").write("{")
print(
    acl.init("a.json"),
    acl.init("a.json"),
    acl.finalize_reference(),
    acl.finalize(),
    acl.init("b.json"),
    acl.init("a.json"),
    acl.finalize(),
    acl.init("c.json"),
    acl.init("none.json"),
)
""",
        head="import acl",
    ) == ["0 100002 (1, 0) 0 100000 0 0 100006 100003"]
