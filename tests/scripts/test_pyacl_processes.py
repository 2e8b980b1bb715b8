"""Several processes: a device each, and memory and notifies shared between them by key."""

from __future__ import annotations

from tests.scripts.acl_script import said

# Children of the scripts below: they open what the parent exported, by the key or number they are told.
OPENS_MEMORY = """
import acl, os, sys
acl.init()
acl.rt.set_device(0)
key = sys.argv[1]
print(acl.rt.ipc_mem_import_by_key("nothing", 0)[1], acl.rt.ipc_mem_import_by_key(key, 0)[1], flush=True)
sys.stdin.readline()
q, ret = acl.rt.ipc_mem_import_by_key(key, 0)
h, _ = acl.rt.malloc_host(4)
print(ret, acl.rt.memcpy(h, 3, q, 3, 2), acl.util.ptr_to_bytes(h, 3), acl.rt.memset(q + 2, 1, 9, 1), acl.rt.free(q))
print(acl.rt.ipc_mem_close(key), acl.rt.ipc_mem_close(key), acl.rt.memcpy(h, 3, q, 3, 2), flush=True)
"""

OPENS_PHYSICAL = """
import acl, sys
acl.init()
acl.rt.set_device(0)
MB = 1 << 20
a, ret = acl.rt.mem_import_from_shareable_handle(int(sys.argv[1]), 0)
va, _ = acl.rt.reserve_mem_address(2 * MB, 0, 0, 0)
h, _ = acl.rt.malloc_host(8)
print(
    ret,
    acl.rt.map_mem(va, 2 * MB, 0, a, 0),
    acl.rt.memcpy(h, 8, va, 8, 2),
    acl.util.ptr_to_bytes(h, 2),
    acl.rt.memset(va, 1, 6, 1),
)
"""

SETS_NOTIFY = """
import acl, sys, time
acl.init()
acl.rt.set_device(0)
n, ret = acl.rt.notify_import_by_key(sys.argv[1], 0)
s, _ = acl.rt.create_stream()
print(ret, acl.rt.record_notify(n, s), acl.rt.synchronize_stream(s))
"""

PARENT = "import acl, numpy as np, os, subprocess, sys\n"


def test_device_memory_is_shared_by_key(start):
    """The child reads what the parent wrote before and after the export, and the parent what the child writes."""
    assert said(
        start,
        """
acl.init()
acl.rt.set_device(0)
p, _ = acl.rt.malloc(4096, 0)
acl.rt.memset(p, 4096, 7, 4096)
key, ret = acl.rt.ipc_mem_get_export_key(p, 4096, 65, 0)
print(
    ret, acl.rt.ipc_mem_get_export_key(p, 4096, 10, 0)[1], acl.rt.ipc_mem_get_export_key(p + 512, 100, 65, 0)[1], flush=True
)
acl.rt.memset(p + 1, 1, 8, 1)
child = CHILD
run = subprocess.Popen([sys.executable, "-c", child, key], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
print(run.stdout.readline(), end="", flush=True)
print(acl.rt.ipc_mem_set_import_pid(key, [run.pid]), acl.rt.ipc_mem_set_import_pid("x", [1]), flush=True)
run.stdin.write("go\\n")
run.stdin.flush()
print(run.communicate()[0], end="", flush=True)
h, _ = acl.rt.malloc_host(4)
acl.rt.memcpy(h, 3, p, 3, 2)
print(acl.util.ptr_to_bytes(h, 3), acl.rt.ipc_mem_close(key), acl.rt.free(p))
print(os.listdir(os.path.join(os.environ["NPU_STATE_DIR"], "shared")))
""".replace("CHILD", repr(OPENS_MEMORY)),
        head=PARENT,
    ) == [
        "0 100000 100000",
        "107000 107000",
        "0 107000",
        "0 0 b'\\x07\\x08\\x07' 0 207002",
        "0 107000 507018",
        "b'\\x07\\x08\\t' 0 0",
        "[]",
    ]


def test_physical_memory_is_shared_by_number(start):
    assert said(
        start,
        """
acl.init()
acl.rt.set_device(0)
MB = 1 << 20
where = {"handleType": 0, "allocationType": 0, "memAttr": 1, "location": {"id": 0, "type": 1}, "reserve": 0}
a, _ = acl.rt.malloc_physical(2 * MB, where, 0)
va, _ = acl.rt.reserve_mem_address(2 * MB, 0, 0, 0)
acl.rt.map_mem(va, 2 * MB, 0, a, 0)
acl.rt.memset(va, 8, 5, 8)
number, ret = acl.rt.mem_export_to_shareable_handle(a, 1, 1)
print(ret, flush=True)
child = CHILD
print(
    subprocess.run([sys.executable, "-c", child, str(number)], stdout=subprocess.PIPE, text=True).stdout, end="", flush=True
)
h, _ = acl.rt.malloc_host(8)
acl.rt.memcpy(h, 2, va, 2, 2)
print(acl.util.ptr_to_bytes(h, 2), acl.rt.mem_import_from_shareable_handle(3, 0)[1])
print(acl.rt.mem_set_pid_to_shareable_handle(number, [1]))
""".replace("CHILD", repr(OPENS_PHYSICAL)),
        head=PARENT,
    ) == ["0", "0 0 0 b'\\x05\\x05' 0", "b'\\x06\\x05' 107000", "0"]


def test_a_notify_crosses_processes(start):
    assert said(
        start,
        """
acl.init()
acl.rt.set_device(0)
n, _ = acl.rt.create_notify(0)
s, _ = acl.rt.create_stream()
key, ret = acl.rt.notify_get_export_key(n, 65, 2)
print(ret, flush=True)
child = CHILD
acl.rt.wait_and_reset_notify(n, s, 0)
run = subprocess.Popen([sys.executable, "-c", child, key], stdout=subprocess.PIPE, text=True)
print(acl.rt.synchronize_stream(s), run.communicate()[0], end="", flush=True)
acl.rt.wait_and_reset_notify(n, s, 100)
print(acl.rt.synchronize_stream(s), acl.rt.notify_import_by_key("x", 0)[1], acl.rt.notify_set_import_pid(key, [1]))
""".replace("CHILD", repr(SETS_NOTIFY)),
        head=PARENT,
    ) == ["0", "0 0 0 0", "107019 107000 0"]


def test_a_device_for_each_process_started_before_any_call(start):
    """multiprocessing with fork: children initialise themselves, device memory is one pool, the parent's state stays its own."""
    assert said(
        start,
        """
import multiprocessing as mp
def work(device, out):
    ret = acl.init(), acl.rt.set_device(device)
    p, _ = acl.rt.malloc(1 << 20, 0)
    data = np.full(1 << 20, device + 1, np.uint8)
    acl.rt.memcpy(p, 1 << 20, data.ctypes.data, 1 << 20, 1)
    back = np.zeros(1 << 20, np.uint8)
    acl.rt.memcpy(back.ctypes.data, 1 << 20, p, 1 << 20, 2)
    out.put(
        (device, ret, int(back.sum()) >> 20, acl.rt.get_device(), acl.rt.free(p), acl.rt.reset_device(device), acl.finalize())
    )
context = mp.get_context("fork")
out = context.SimpleQueue()
children = [context.Process(target=work, args=(n, out)) for n in range(4)]
for c in children:
    c.start()
for c in children:
    c.join()
for line in sorted(out.get() for _ in children):
    print(*line)
print([c.exitcode for c in children], acl.rt.get_device())
""",
        head=PARENT,
    ) == [
        *(f"{n} (0, 0) {n + 1} ({n}, 0) 0 0 0" for n in range(4)),
        "[0, 0, 0, 0] (0, 107002)",
    ]


def test_memory_of_one_process_is_missing_to_the_other(start):
    assert said(
        start,
        """
acl.init()
acl.rt.set_device(0)
child = "import acl, sys; acl.init(); acl.rt.set_device(0); print(acl.rt.malloc(20 << 30, 0)[1], flush=True); input()"
before = acl.rt.get_mem_info(1)[0]
run = subprocess.Popen([sys.executable, "-c", child], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
print(run.stdout.readline().strip(), before - acl.rt.get_mem_info(1)[0] >> 30, acl.rt.malloc(50 << 30, 0)[1], flush=True)
run.kill()
run.wait()
print(before - acl.rt.get_mem_info(1)[0], acl.rt.malloc(50 << 30, 0)[1])
""",
        head=PARENT,
    ) == ["0 20 507011", "0 0"]
