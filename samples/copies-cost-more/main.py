"""Large pictures for a small model: each is copied from ordinary memory with the blocking call, then the model runs.

usage: main.py MODEL.om PICTURES
"""

import sys

import acl

ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2


def check(ret, what):
    if ret != 0:
        raise RuntimeError(f"{what} failed, error code {ret}: {acl.get_recent_err_msg()}")


def made(pair, what):
    value, ret = pair
    check(ret, what)
    return value


def main(model_path, pictures):
    check(acl.init(), "acl.init")
    check(acl.rt.set_device(0), "set_device")
    stream = made(acl.rt.create_stream(), "create_stream")
    model = made(acl.mdl.load_from_file(model_path), "load_from_file")
    desc = acl.mdl.create_desc()
    check(acl.mdl.get_desc(desc, model), "get_desc")
    in_size = acl.mdl.get_input_size_by_index(desc, 0)
    out_size = acl.mdl.get_output_size_by_index(desc, 0)
    in_device = made(acl.rt.malloc(in_size, ACL_MEM_MALLOC_HUGE_FIRST), "malloc")
    out_device = made(acl.rt.malloc(out_size, ACL_MEM_MALLOC_HUGE_FIRST), "malloc")
    inputs, outputs = acl.mdl.create_dataset(), acl.mdl.create_dataset()
    acl.mdl.add_dataset_buffer(inputs, acl.create_data_buffer(in_device, in_size))
    acl.mdl.add_dataset_buffer(outputs, acl.create_data_buffer(out_device, out_size))
    out_host = made(acl.rt.malloc_host(out_size), "malloc_host")
    picture = bytes(in_size)
    pointer = acl.util.bytes_to_ptr(picture)

    for _picture in range(pictures):
        check(acl.rt.memcpy(in_device, in_size, pointer, in_size, ACL_MEMCPY_HOST_TO_DEVICE), "memcpy")
        check(acl.mdl.execute_async(model, inputs, outputs, stream), "execute_async")
        check(acl.rt.synchronize_stream(stream), "synchronize_stream")
        check(acl.rt.memcpy(out_host, out_size, out_device, out_size, ACL_MEMCPY_DEVICE_TO_HOST), "memcpy")

    print(f"{pictures} pictures of {in_size} bytes")
    check(acl.mdl.unload(model), "unload")
    check(acl.rt.reset_device(0), "reset_device")
    check(acl.finalize(), "finalize")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
