"""The same as main.py, mended: a worker prepares the next picture and copies it while the device computes.

usage: fixed.py MODEL.om PICTURES
"""

import queue
import sys
import threading
import time

import acl

ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2
SLOTS = 2  # while the device computes on one picture, the next is prepared into the other
DECODING = 0.003  # s a picture: what decoding, resizing and normalising cost the host; a sleep stands for the work


def check(ret, what):
    if ret != 0:
        raise RuntimeError(f"{what} failed, error code {ret}: {acl.get_recent_err_msg()}")


def made(pair, what):
    value, ret = pair
    check(ret, what)
    return value


def prepare():
    time.sleep(DECODING)


class Slot:
    """A buffer on each side for one picture."""

    def __init__(self, in_size):
        self.in_size = in_size
        self.host = made(acl.rt.malloc_host(in_size), "malloc_host")
        self.device = made(acl.rt.malloc(in_size, ACL_MEM_MALLOC_HUGE_FIRST), "malloc")
        self.inputs = acl.mdl.create_dataset()
        acl.mdl.add_dataset_buffer(self.inputs, acl.create_data_buffer(self.device, in_size))


def work(context, there, empty, full):
    """The worker: prepares pictures into empty slots and hands them over as soon as their copy is queued."""
    check(acl.rt.set_context(context), "set_context")
    stream = made(acl.rt.create_stream(), "create_stream")
    for event in there:
        prepare()
        slot = empty.get()
        check(
            acl.rt.memcpy_async(slot.device, slot.in_size, slot.host, slot.in_size, ACL_MEMCPY_HOST_TO_DEVICE, stream),
            "memcpy_async",
        )
        check(acl.rt.record_event(event, stream), "record_event")
        full.put(slot)


def main(model_path, pictures):
    check(acl.init(), "acl.init")
    check(acl.rt.set_device(0), "set_device")
    stream = made(acl.rt.create_stream(), "create_stream")
    model = made(acl.mdl.load_from_file(model_path), "load_from_file")
    desc = acl.mdl.create_desc()
    check(acl.mdl.get_desc(desc, model), "get_desc")
    in_size = acl.mdl.get_input_size_by_index(desc, 0)
    out_size = acl.mdl.get_output_size_by_index(desc, 0)
    out_host = made(acl.rt.malloc_host(out_size), "malloc_host")
    out_device = made(acl.rt.malloc(out_size, ACL_MEM_MALLOC_HUGE_FIRST), "malloc")
    outputs = acl.mdl.create_dataset()
    acl.mdl.add_dataset_buffer(outputs, acl.create_data_buffer(out_device, out_size))

    empty, full = queue.Queue(), queue.Queue()
    for _ in range(SLOTS):
        empty.put(Slot(in_size))
    there = [made(acl.rt.create_event(), "create_event") for _ in range(pictures)]
    context = made(acl.rt.get_context(), "get_context")
    worker = threading.Thread(target=work, args=(context, there, empty, full))
    worker.start()

    for event in there:
        slot = full.get()
        check(acl.rt.stream_wait_event(stream, event), "stream_wait_event")
        check(acl.mdl.execute_async(model, slot.inputs, outputs, stream), "execute_async")
        check(acl.rt.synchronize_stream(stream), "synchronize_stream")
        empty.put(slot)
        check(acl.rt.memcpy(out_host, out_size, out_device, out_size, ACL_MEMCPY_DEVICE_TO_HOST), "memcpy")
    worker.join()

    print(f"{pictures} pictures")
    check(acl.mdl.unload(model), "unload")
    check(acl.rt.reset_device(0), "reset_device")
    check(acl.finalize(), "finalize")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
