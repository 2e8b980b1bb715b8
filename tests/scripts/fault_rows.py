"""Faults as rows: what a script does, the code it gets, words of the recent message, words of a log line, and the cause that
`npu-diag log` names. Bodies run with acl initialised and device 0 open (unless `bare`), and leave the code in `code`."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """line: words of a plog or device log line, "" where the message's own line is meant; planned: NPU_FAULT; ends: exit status
    of the script, -9 for killed."""

    name: str
    body: str
    code: int
    message: str
    cause: str | None
    line: str = ""
    env: dict[str, str] = field(default_factory=dict)
    bare: bool = False
    ends: int = 0


BUFFERS = """
n = 4096
p, _ = acl.rt.malloc(n, 2)
h, _ = acl.rt.malloc_host(n)
s, _ = acl.rt.create_stream()
"""
OPERATOR = BUFFERS + """
desc = acl.create_tensor_desc(0, [1024], 2)
source, target = acl.create_data_buffer(p, n), acl.create_data_buffer(acl.rt.malloc(n, 2)[0], n)
def relu(times):
    for _ in range(times):
        acl.op.execute_v2("Relu", [desc], [source], [desc], [target], acl.op.create_attr(), s)
"""
MODEL = """
def run(name, size):
    model, code = acl.mdl.load_from_file(f"{MODELS}/{name}.om")
    if code:
        return code
    sets = []
    for bytes in (size, 256):
        made = acl.mdl.create_dataset()
        acl.mdl.add_dataset_buffer(made, acl.create_data_buffer(acl.rt.malloc(bytes, 2)[0], bytes))
        sets.append(made)
    return acl.mdl.execute(model, *sets)
"""

# What the articles' table tells, with the codes it tells.
ARTICLES = (
    Row("copy to a pointer that is no device memory", BUFFERS + "code = acl.rt.memcpy(h, n, h + 8, n - 8, 1)", 507018,
        "507018 (public header: 107000), cause not_device_memory", "wrong_address"),
    Row("out of device memory", "code = acl.rt.malloc(1 << 40, 0)[1]", 507011,
        "507011 (public header: 207001), cause no_memory: Device memory is exhausted: 1099511627776 bytes", "device_out_of_memory"),
    Row("model input that does not fit", MODEL + 'code = run("fits", 32)', 507033,
        "507033 (public header: 145000), cause model_input_mismatch", "model_input_mismatch"),
    Row("model of a newer toolkit", MODEL + 'code = run("newer", 256)', 507033,
        "built by CANN 9.9.0, newer than this host's", "model_too_new"),
    Row("model for another chip", MODEL + 'code = run("other", 256)', 145006,
        "built for Ascend310P3; this device is an Ascend910B3", "model_wrong_chip"),
    Row("no driver", "code = acl.rt.set_device(0)", 507018, "507018 (public header: 107001), cause no_driver", "no_driver",
        env={"NPU_DRIVER": "none"}, bare=True),
    Row("a wait that cannot end", BUFFERS + """
e, _ = acl.rt.create_event()
acl.rt.stream_wait_event(s, e)
code = acl.rt.synchronize_stream(s)""", 507046, "waits for stream 1. Stream 1 waits for event 0, which is recorded nowhere.",
        "wait_deadlock"),
    Row("read before synchronising", BUFFERS + """
big, m = acl.rt.malloc(64 << 20, 0)[0], 64 << 20
acl.rt.memcpy_async(big, m, acl.rt.malloc_host(m)[0], m, 1, s)
code = acl.rt.memcpy(h, n, big + m - n, n, 2)""", 0, "", "stale_read", line="stale read: the 4096 bytes at 0x"),
    Row("device busy", "code = acl.rt.set_device(0)", 507033, "cause busy: Device 0 is in use by another container",
        "device_busy", env={"NPU_FAULT": "busy"}, bare=True),
    Row("device not alive", BUFFERS + "code = acl.rt.synchronize_stream(s)", 507010, "cause not_alive: Device 0 does not answer",
        "device_lost", line="device 0 lost heartbeat", env={"NPU_FAULT": "heartbeat-lost:at=6"}),
    Row("a visible device that is not there", "code = acl.rt.set_device(1)", 107001, "Device 1 does not exist; 1 devices",
        "invalid_device_id", env={"ASCEND_RT_VISIBLE_DEVICES": "2,9"}, bare=True),
)  # fmt: skip

# Memory, handles, contexts, order of calls.
USE = (
    Row("wrong direction", BUFFERS + "code = acl.rt.memcpy(p, n, p, n, 2) or acl.rt.memcpy(p + 64, 64, p, 64, 1)", 107000,
        "cause wrong_side", "wrong_address"),
    Row("more than its destination", BUFFERS + "code = acl.rt.memcpy(p, n, h, n + 1, 1)", 107000, "4097 bytes is larger",
        "wrong_address"),
    Row("beyond the allocation", BUFFERS + "code = acl.rt.memcpy(p, 2 * n, h, 2 * n, 1)", 107000,
        "reach beyond its allocation: 4128 bytes are left", "wrong_address"),
    Row("freed twice", BUFFERS + "acl.rt.free(p); code = acl.rt.free(p)", 207002, "it was freed before", "wrong_address"),
    Row("inside an allocation", BUFFERS + "code = acl.rt.free(p + 64)", 207002, "it lies 64 bytes inside one", "wrong_address"),
    Row("used after it was freed", BUFFERS + "acl.rt.free(p); code = acl.rt.memcpy(p, n, h, n, 1)", 507018,
        "lies in no live device allocation: it was freed before", "wrong_address"),
    Row("freed after its device was reset", BUFFERS + "acl.rt.reset_device(0); code = acl.rt.free(p)", 207002,
        "its device was reset", "wrong_address"),
    Row("freed under a copy", BUFFERS + """
acl.rt.memcpy_async(p, n, h, n, 1, s); acl.rt.free(p)
code = acl.rt.synchronize_stream(s)""", 507013, "freed while a copy that uses them was still queued", "freed_in_flight"),
    Row("freed under a kernel", OPERATOR + "relu(1); acl.rt.free(p); code = acl.rt.synchronize_stream(s)", 507015,
        "freed while a kernel that uses them was still queued", "freed_in_flight"),
    Row("no handle", "code = acl.rt.synchronize_stream(12345)", 107017, "is no live Stream: it was never one", "wrong_handle"),
    Row("a destroyed handle", BUFFERS + "acl.rt.destroy_stream(s); code = acl.rt.synchronize_stream(s)", 107017,
        "is no live Stream: it was destroyed", "wrong_handle"),
    Row("a handle of another kind", BUFFERS + "code = acl.rt.synchronize_event(s)", 107017, "it is a Stream", "wrong_handle"),
    Row("a stream of another context", BUFFERS + "acl.rt.set_device(1); code = acl.rt.memcpy_async(p, n, h, n, 1, s)", 107003,
        "current context (device 1) but to one of device 0", "wrong_handle"),
    Row("a destroyed context", "c, _ = acl.rt.create_context(0); acl.rt.destroy_context(c); code = acl.rt.set_context(c)", 107017,
        "is no live Context: it was destroyed", "wrong_handle"),
    Row("no context", "code = acl.rt.create_stream()[1]", 107002, "cause no_context", "no_context", bare=True),
    Row("a device that is not open", "code = acl.rt.reset_device(3)", 107001, "Device 3 was not opened by this process", "no_context"),
    Row("an event that was never recorded", "code = acl.rt.event_get_timestamp(acl.rt.create_event()[0])[1]", 107006,
        "cause event_not_recorded", "wrong_handle"),
    Row("waiting for an event nobody records", "code = acl.rt.synchronize_event(acl.rt.create_event()[0])", 507047,
        "waits for event 0, which is recorded nowhere", "wait_deadlock"),
    Row("streams that wait for each other", BUFFERS + """
t, _ = acl.rt.create_stream()
e, f = acl.rt.create_event()[0], acl.rt.create_event()[0]
acl.rt.stream_wait_event(s, e); acl.rt.record_event(f, s)
acl.rt.stream_wait_event(t, f); acl.rt.record_event(e, t)
code = acl.rt.synchronize_stream(s)""", 507046, "A cycle: stream 1 -> stream 2 -> stream 1.", "wait_deadlock"),
    Row("threads that wait for each other", BUFFERS + """
import threading, time
t, _ = acl.rt.create_stream()
acl.rt.stream_wait_event(s, acl.rt.create_event()[0]); acl.rt.stream_wait_event(t, acl.rt.create_event()[0])
told, ready = [], threading.Event()
def wait(stream):
    told.append((acl.rt.synchronize_stream(stream), acl.get_recent_err_msg()))
def other():
    acl.rt.set_device(0); ready.set(); wait(t)
threading.Thread(target=other, daemon=True).start()
ready.wait(); time.sleep(0.1); wait(s)
code, message = told[0]""", 507046, "Threads that wait as well and so record nothing: ", "wait_deadlock"),
    Row("too many streams", "code = next(c for c in (acl.rt.create_stream()[1] for _ in range(2100)) if c)", 207008,
        "cause no_stream_resource", "scheduler_resources"),
    Row("too many events", "code = next(c for c in (acl.rt.create_event()[1] for _ in range(70000)) if c)", 207007,
        "cause no_event_resource", "scheduler_resources"),
    Row("initialised twice", "code = acl.init()", 100002, "cause repeat_init", "repeated_init",
        line="[INFO] ASCENDCL", env={"ASCEND_GLOBAL_LOG_LEVEL": "1"}),
    Row("initialised twice, then a real fault", BUFFERS + "acl.init(); code = acl.rt.free(p + 64)", 207002, "it lies 64 bytes inside",
        "wrong_address", env={"ASCEND_GLOBAL_LOG_LEVEL": "1"}),
    Row("finalised twice", "acl.rt.reset_device(0); acl.finalize(); code = acl.finalize()", 100037, "cause repeat_finalize",
        "not_initialised"),
    Row("not initialised", MODEL + 'acl.finalize(); code = run("fits", 256)', 100001, "loading a model needs it", "not_initialised"),
    Row("things left behind at a reset", BUFFERS + "code = acl.rt.reset_device(0)", 0, "", None,
        line="aclrtResetDevice: left behind on device 0: 8192 bytes of device memory, 1 streams"),
    Row("things left behind at the end", "acl.rt.create_event(); code = acl.finalize()", 0, "", None,
        line="aclFinalize: left behind: 1 DeviceEvent, open devices 0"),
)  # fmt: skip

# Planned by NPU_FAULT.
PLANNED = (
    Row("ecc", OPERATOR + "relu(3); code = acl.rt.synchronize_stream(s)", 507054, "multi-bit ECC error in its memory while kernel Relu",
        "memory_ecc", line="event_id=0x80e01801", env={"NPU_FAULT": "ecc:at=2"}),
    Row("aicore-exception", OPERATOR + "relu(3); code = acl.rt.synchronize_stream(s)", 507015, "A kernel failed on the device (Relu)",
        "aicore_exception", line="stream_id=1, report_stream_id=1, task_id=2, flip_num=0, fault kernel_name=Relu",
        env={"NPU_FAULT": "aicore-exception:at=3"}),
    Row("aicore-timeout", OPERATOR + "relu(1); code = acl.rt.synchronize_stream(s)", 507014, "longer than the 5000000 us allowed",
        "kernel_timeout", line="retCode=0x25", env={"NPU_FAULT": "aicore-timeout:seconds=5"}),
    Row("aicore-timeout at the script's limit", OPERATOR + "acl.rt.set_op_execute_time_out(2); relu(1); "
        "code = acl.rt.synchronize_stream(s)", 507014, "longer than the 2000000 us allowed", "kernel_timeout",
        env={"NPU_FAULT": "aicore-timeout"}),
    Row("aicpu-exception", MODEL + 'code = run("aicpu", 64)', 507018, "cause aicpu_exception: AI CPU kernel", "aicpu_exception",
        line="an exception occurred during AICPU execution", env={"NPU_FAULT": "aicpu-exception"}),
    Row("link-down", BUFFERS + """
acl.rt.set_device(1); q, _ = acl.rt.malloc(n, 2); acl.rt.device_enable_peer_access(0, 0)
acl.rt.set_device(0); acl.rt.device_enable_peer_access(1, 0)
code = acl.rt.memcpy(q, n, p, n, 3)""", 507056, "A link of device 1 is down", "link_fault", line="link is down",
        env={"NPU_FAULT": "link-down:device=1"}),
    Row("link-down in a collective", """
import hccl
comms, _ = hccl.HcclCommInitAll(2, [0, 1])
lanes = []
for rank, comm in enumerate(comms):
    acl.rt.set_device(rank)
    p, s = acl.rt.malloc(64, 2)[0], acl.rt.create_stream()[0]
    hccl.HcclAllReduce(p, p, 16, 4, 0, comm, s)
    lanes.append(s)
acl.rt.set_device(0)
waited, told = acl.rt.synchronize_stream(lanes[0]), acl.get_recent_err_msg()
acl.rt.set_device(1)
code = acl.rt.synchronize_stream(lanes[1]) if waited == 507048 and "remote rank: [1]" in told else waited""", 507056,
        "A link of device 1 is down", "link_fault", line="EI0002", env={"NPU_FAULT": "link-down:device=1"}),
    Row("slow", OPERATOR + "relu(1); code = acl.rt.synchronize_stream(s)", 0, "", "slow_device",
        line="AI Core frequency of device 0 is limited: 600 MHz of 1800 MHz", env={"NPU_FAULT": "slow:factor=3"}),
    Row("pcie-half", "code = 0", 0, "", "pcie_degraded", line="link of device 0 trained at half", env={"NPU_FAULT": "pcie-half"}),
    Row("killed", BUFFERS + "code = acl.rt.synchronize_stream(s)", -1, "", None, line="NPU_FAULT is set: killed:at=6",
        env={"NPU_FAULT": "killed:at=6"}, ends=-9),
    Row("heartbeat-lost, then opened again", "acl.rt.malloc(64, 2); acl.rt.reset_device(0); code = acl.rt.set_device(0)", 507010,
        "its heartbeat is lost", "device_lost", env={"NPU_FAULT": "heartbeat-lost:at=3"}),
    Row("of another device", OPERATOR + "relu(3); code = acl.rt.synchronize_stream(s)", 0, "", None, line="NPU_FAULT is set: ecc",
        env={"NPU_FAULT": "ecc:device=1"}),
)  # fmt: skip

ROWS = (*ARTICLES, *USE, *PLANNED)

# Run by `python -m npu`: each row in a forked child, whose stack starts anew with the row's environment.
RUNNER = '''
import json, os, sys
import acl
rows, MODELS, folder = json.load(open(sys.argv[1])), sys.argv[2], sys.argv[3]
for number, row in enumerate(rows):
    place = os.path.join(folder, str(number))
    os.makedirs(place)
    child = os.fork()
    if child == 0:
        os.environ.update(row["env"], HOME=place, NPU_STATE_DIR=os.path.join(place, "state"))
        sys.stderr = open(os.path.join(place, "stderr"), "w")
        acl.init()
        if not row["bare"]:
            acl.rt.set_device(0)
        found = {"acl": acl, "MODELS": MODELS, "code": -1}
        exec(row["body"], found)
        with open(os.path.join(place, "said"), "w") as file:
            json.dump([found["code"], found.get("message") or acl.get_recent_err_msg()], file)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    with open(os.path.join(place, "ended"), "w") as file:
        file.write(str(os.waitstatus_to_exitcode(status)))
'''
