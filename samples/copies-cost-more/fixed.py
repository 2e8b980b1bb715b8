"""The same as main.py, mended: pinned memory, and the next picture travels on a copy stream while the model runs.

usage: fixed.py MODEL.om PICTURES
"""

import sys

import acl

ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2
SLOTS = 2


def check(ret, what):
    if ret != 0:
        raise RuntimeError(f"{what} failed, error code {ret}: {acl.get_recent_err_msg()}")


def made(pair, what):
    value, ret = pair
    check(ret, what)
    return value


class Slot:
    """One of the two inputs on the device, and the event that tells its picture is there."""

    def __init__(self, size):
        self.size = size
        self.device = made(acl.rt.malloc(size, ACL_MEM_MALLOC_HUGE_FIRST), "malloc")
        self.inputs = acl.mdl.create_dataset()
        acl.mdl.add_dataset_buffer(self.inputs, acl.create_data_buffer(self.device, size))
        self.there = made(acl.rt.create_event(), "create_event")

    def fill(self, host, stream):
        """Queue the copy of a picture from pinned memory."""
        check(acl.rt.memcpy_async(self.device, self.size, host, self.size, ACL_MEMCPY_HOST_TO_DEVICE, stream), "memcpy_async")
        check(acl.rt.record_event(self.there, stream), "record_event")


def main(model_path, pictures):
    check(acl.init(), "acl.init")
    check(acl.rt.set_device(0), "set_device")
    stream, copies = (made(acl.rt.create_stream(), "create_stream") for _ in range(2))
    model = made(acl.mdl.load_from_file(model_path), "load_from_file")
    desc = acl.mdl.create_desc()
    check(acl.mdl.get_desc(desc, model), "get_desc")
    in_size = acl.mdl.get_input_size_by_index(desc, 0)
    out_size = acl.mdl.get_output_size_by_index(desc, 0)
    out_device = made(acl.rt.malloc(out_size, ACL_MEM_MALLOC_HUGE_FIRST), "malloc")
    slots = [Slot(in_size) for _ in range(SLOTS)]
    outputs = acl.mdl.create_dataset()
    acl.mdl.add_dataset_buffer(outputs, acl.create_data_buffer(out_device, out_size))
    out_host = made(acl.rt.malloc_host(out_size), "malloc_host")
    in_host = made(acl.rt.malloc_host(in_size), "malloc_host")

    slots[0].fill(in_host, copies)
    for picture in range(pictures):
        slot = slots[picture % SLOTS]
        check(acl.rt.stream_wait_event(stream, slot.there), "stream_wait_event")
        check(acl.mdl.execute_async(model, slot.inputs, outputs, stream), "execute_async")
        if picture + 1 < pictures:
            slots[(picture + 1) % SLOTS].fill(in_host, copies)
        check(acl.rt.synchronize_stream(stream), "synchronize_stream")
        check(acl.rt.memcpy(out_host, out_size, out_device, out_size, ACL_MEMCPY_DEVICE_TO_HOST), "memcpy")

    print(f"{pictures} pictures of {in_size} bytes")
    check(acl.mdl.unload(model), "unload")
    check(acl.rt.reset_device(0), "reset_device")
    check(acl.finalize(), "finalize")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
