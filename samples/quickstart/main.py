"""Classify line images on an Ascend NPU with pyACL, one after another.

usage: main.py MODEL.om COUNT OUTPUT.npy
"""

import sys

import acl
import numpy as np
from lines import draw

ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2


def check(ret, what):
    if ret != 0:
        raise RuntimeError(f"{what} failed, error code {ret}: {acl.get_recent_err_msg()}")


def main(model_path, count, result_path):
    check(acl.init(), "acl.init")
    check(acl.rt.set_device(0), "set_device")
    stream, ret = acl.rt.create_stream()
    check(ret, "create_stream")
    model, ret = acl.mdl.load_from_file(model_path)
    check(ret, "load_from_file")
    desc = acl.mdl.create_desc()
    check(acl.mdl.get_desc(desc, model), "get_desc")
    in_size = acl.mdl.get_input_size_by_index(desc, 0)
    out_size = acl.mdl.get_output_size_by_index(desc, 0)

    in_device, ret = acl.rt.malloc(in_size, ACL_MEM_MALLOC_HUGE_FIRST)
    check(ret, "malloc")
    out_device, ret = acl.rt.malloc(out_size * count, ACL_MEM_MALLOC_HUGE_FIRST)
    check(ret, "malloc")
    inputs = acl.mdl.create_dataset()
    in_buffer = acl.create_data_buffer(in_device, in_size)
    acl.mdl.add_dataset_buffer(inputs, in_buffer)
    images = [draw(number).tobytes() for number in range(count)]
    outputs, out_buffers = [], []
    for number in range(count):
        dataset = acl.mdl.create_dataset()
        buffer = acl.create_data_buffer(out_device + number * out_size, out_size)
        acl.mdl.add_dataset_buffer(dataset, buffer)
        outputs.append(dataset)
        out_buffers.append(buffer)

    for number, image in enumerate(images):
        pointer = acl.util.bytes_to_ptr(image)
        check(acl.rt.memcpy(in_device, in_size, pointer, in_size, ACL_MEMCPY_HOST_TO_DEVICE), "memcpy")
        check(acl.mdl.execute_async(model, inputs, outputs[number], stream), "execute_async")
        check(acl.rt.synchronize_stream(stream), "synchronize_stream")

    result = bytes(out_size * count)
    check(
        acl.rt.memcpy(acl.util.bytes_to_ptr(result), out_size * count, out_device, out_size * count, ACL_MEMCPY_DEVICE_TO_HOST),
        "memcpy",
    )
    scores = np.frombuffer(result, np.float32).reshape(count, -1)
    np.save(result_path, scores)
    wrong = sum(int(scores[n].argmax()) != n % 2 for n in range(count))
    print(f"{count} lines, {int((scores.argmax(axis=1) == 1).sum())} upside down, {wrong} misjudged")

    for dataset, buffer in zip([inputs, *outputs], [in_buffer, *out_buffers], strict=True):
        acl.destroy_data_buffer(buffer)
        acl.mdl.destroy_dataset(dataset)
    acl.mdl.destroy_desc(desc)
    acl.mdl.unload(model)
    acl.rt.free(in_device)
    acl.rt.free(out_device)
    acl.rt.destroy_stream(stream)
    acl.rt.reset_device(0)
    acl.finalize()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
