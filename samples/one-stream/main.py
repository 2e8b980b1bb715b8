"""Four video feeds, one model, the default stream: a frame of each feed is queued, then all are waited for.

usage: main.py MODEL.om FRAMES
"""

import sys
import time

import acl

ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2
DEFAULT_STREAM = 0
FEEDS = 4


def check(ret, what):
    if ret != 0:
        raise RuntimeError(f"{what} failed, error code {ret}: {acl.get_recent_err_msg()}")


def made(pair, what):
    value, ret = pair
    check(ret, what)
    return value


class Feed:
    """Buffers of one feed: pinned on the host, and on the device."""

    def __init__(self, in_size, out_size):
        self.in_host = made(acl.rt.malloc_host(in_size), "malloc_host")
        self.out_host = made(acl.rt.malloc_host(out_size), "malloc_host")
        self.in_device = made(acl.rt.malloc(in_size, ACL_MEM_MALLOC_HUGE_FIRST), "malloc")
        self.out_device = made(acl.rt.malloc(out_size, ACL_MEM_MALLOC_HUGE_FIRST), "malloc")
        self.inputs, self.outputs = acl.mdl.create_dataset(), acl.mdl.create_dataset()
        acl.mdl.add_dataset_buffer(self.inputs, acl.create_data_buffer(self.in_device, in_size))
        acl.mdl.add_dataset_buffer(self.outputs, acl.create_data_buffer(self.out_device, out_size))


def main(model_path, frames):
    check(acl.init(), "acl.init")
    check(acl.rt.set_device(0), "set_device")
    model = made(acl.mdl.load_from_file(model_path), "load_from_file")
    desc = acl.mdl.create_desc()
    check(acl.mdl.get_desc(desc, model), "get_desc")
    in_size = acl.mdl.get_input_size_by_index(desc, 0)
    out_size = acl.mdl.get_output_size_by_index(desc, 0)
    feeds = [Feed(in_size, out_size) for _ in range(FEEDS)]

    latency = []
    for _frame in range(frames):
        begun = time.perf_counter()
        for feed in feeds:
            check(
                acl.rt.memcpy_async(feed.in_device, in_size, feed.in_host, in_size, ACL_MEMCPY_HOST_TO_DEVICE, DEFAULT_STREAM),
                "memcpy_async",
            )
            check(acl.mdl.execute_async(model, feed.inputs, feed.outputs, DEFAULT_STREAM), "execute_async")
            check(
                acl.rt.memcpy_async(
                    feed.out_host, out_size, feed.out_device, out_size, ACL_MEMCPY_DEVICE_TO_HOST, DEFAULT_STREAM
                ),
                "memcpy_async",
            )
        check(acl.rt.synchronize_stream(DEFAULT_STREAM), "synchronize_stream")
        latency.append(1000 * (time.perf_counter() - begun))

    print(f"{frames} frames of {FEEDS} feeds, {sum(latency) / frames:.2f} ms for a frame of each")
    check(acl.mdl.unload(model), "unload")
    check(acl.rt.reset_device(0), "reset_device")
    check(acl.finalize(), "finalize")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
