"""The same as main.py, mended: buffers for the largest frame are made once and used again for every frame.

usage: fixed.py MODEL.om FRAMES
"""

import sys
import time

import acl

ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2
FEWEST, MOST = 6, 35  # tiles of a frame


def check(ret, what):
    if ret != 0:
        raise RuntimeError(f"{what} failed, error code {ret}: {acl.get_recent_err_msg()}")


def made(pair, what):
    value, ret = pair
    check(ret, what)
    return value


def tiles(frame):
    """How many tiles the frame has: any number from FEWEST to MOST, in an order that looks like chance."""
    return FEWEST + frame * 13 % (MOST - FEWEST + 1)


class Tile:
    """Buffers of one tile, on the host and on the device."""

    def __init__(self, in_size, out_size):
        self.in_size, self.out_size = in_size, out_size
        self.in_device = made(acl.rt.malloc(in_size, ACL_MEM_MALLOC_HUGE_FIRST), "malloc")
        self.out_device = made(acl.rt.malloc(out_size, ACL_MEM_MALLOC_HUGE_FIRST), "malloc")
        self.in_host = made(acl.rt.malloc_host(in_size), "malloc_host")
        self.out_host = made(acl.rt.malloc_host(out_size), "malloc_host")
        self.inputs, self.outputs = acl.mdl.create_dataset(), acl.mdl.create_dataset()
        self.buffers = acl.create_data_buffer(self.in_device, in_size), acl.create_data_buffer(self.out_device, out_size)
        acl.mdl.add_dataset_buffer(self.inputs, self.buffers[0])
        acl.mdl.add_dataset_buffer(self.outputs, self.buffers[1])

    def submit(self, model, stream):
        """Queue the tile: in, model, out."""
        check(
            acl.rt.memcpy_async(self.in_device, self.in_size, self.in_host, self.in_size, ACL_MEMCPY_HOST_TO_DEVICE, stream),
            "memcpy_async",
        )
        check(acl.mdl.execute_async(model, self.inputs, self.outputs, stream), "execute_async")
        check(
            acl.rt.memcpy_async(self.out_host, self.out_size, self.out_device, self.out_size, ACL_MEMCPY_DEVICE_TO_HOST, stream),
            "memcpy_async",
        )

    def free(self):
        for buffer in self.buffers:
            acl.destroy_data_buffer(buffer)
        acl.mdl.destroy_dataset(self.inputs)
        acl.mdl.destroy_dataset(self.outputs)
        for pointer in (self.in_device, self.out_device):
            check(acl.rt.free(pointer), "free")
        for pointer in (self.in_host, self.out_host):
            check(acl.rt.free_host(pointer), "free_host")


def main(model_path, frames):
    check(acl.init(), "acl.init")
    check(acl.rt.set_device(0), "set_device")
    stream = made(acl.rt.create_stream(), "create_stream")
    model = made(acl.mdl.load_from_file(model_path), "load_from_file")
    desc = acl.mdl.create_desc()
    check(acl.mdl.get_desc(desc, model), "get_desc")
    in_size = acl.mdl.get_input_size_by_index(desc, 0)
    out_size = acl.mdl.get_output_size_by_index(desc, 0)
    pool = [Tile(in_size, out_size) for _ in range(MOST)]

    latency = []
    for frame in range(frames):
        begun = time.perf_counter()
        for tile in pool[: tiles(frame)]:
            tile.submit(model, stream)
        check(acl.rt.synchronize_stream(stream), "synchronize_stream")
        latency.append(1000 * (time.perf_counter() - begun))

    latency.sort()
    print(f"{frames} frames: {latency[0]:.1f} to {latency[-1]:.1f} ms, P99 {latency[-1 - frames // 100]:.1f} ms")
    for tile in pool:
        tile.free()
    check(acl.mdl.unload(model), "unload")
    check(acl.rt.reset_device(0), "reset_device")
    check(acl.finalize(), "finalize")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
