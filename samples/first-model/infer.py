"""usage: infer.py MODEL.om MODEL.onnx: every step of a model's life, the code of each, both results against onnxruntime."""

import sys

import acl
import numpy as np

H2D, D2H = 1, 2
HUGE_FIRST = 0
failed = 0


def check(call, answer):
    """Print the code of a call; give what it answered besides."""
    global failed
    value, code = answer if isinstance(answer, tuple) else (None, answer)
    print(f"{call:<28} {code}")
    if code:
        failed = 1
        print(acl.get_recent_err_msg())
        raise SystemExit(1)
    return value


check("init", acl.init())
check("set_device", acl.rt.set_device(0))
context = check("create_context", acl.rt.create_context(0))
stream = check("create_stream", acl.rt.create_stream())
model = check("load_from_file", acl.mdl.load_from_file(sys.argv[1]))
desc = acl.mdl.create_desc()
check("get_desc", acl.mdl.get_desc(desc, model))
print("inputs", acl.mdl.get_num_inputs(desc), "outputs", acl.mdl.get_num_outputs(desc))
shape = check("get_input_dims", acl.mdl.get_input_dims(desc, 0))["dims"]
sizes = acl.mdl.get_input_size_by_index(desc, 0), acl.mdl.get_output_size_by_index(desc, 0)
addresses = [check("malloc", acl.rt.malloc(size, HUGE_FIRST)) for size in sizes]
buffers = [acl.create_data_buffer(a, s) for a, s in zip(addresses, sizes, strict=True)]
sets = [acl.mdl.create_dataset(), acl.mdl.create_dataset()]
for dataset, buffer in zip(sets, buffers, strict=True):
    check("add_dataset_buffer", acl.mdl.add_dataset_buffer(dataset, buffer))

image = np.random.default_rng(7).normal(size=shape).astype(np.float32)
source = image.tobytes()
check("memcpy to the device", acl.rt.memcpy(addresses[0], sizes[0], acl.util.bytes_to_ptr(source), len(source), H2D))
host = check("malloc_host", acl.rt.malloc_host(sizes[1]))
results = []
check("execute", acl.mdl.execute(model, *sets))
check("memcpy back", acl.rt.memcpy(host, sizes[1], addresses[1], sizes[1], D2H))
results.append(np.frombuffer(acl.util.ptr_to_bytes(host, sizes[1]), np.float32).copy())
check("execute_async", acl.mdl.execute_async(model, *sets, stream))
check("memcpy_async", acl.rt.memcpy_async(host, sizes[1], addresses[1], sizes[1], D2H, stream))
check("synchronize_stream", acl.rt.synchronize_stream(stream))
results.append(np.frombuffer(acl.util.ptr_to_bytes(host, sizes[1]), np.float32).copy())

# release in reverse order
check("free_host", acl.rt.free_host(host))
for dataset, buffer in zip(sets, buffers, strict=True):
    check("destroy_data_buffer", acl.destroy_data_buffer(buffer))
    check("destroy_dataset", acl.mdl.destroy_dataset(dataset))
for address in addresses:
    check("free", acl.rt.free(address))
check("destroy_desc", acl.mdl.destroy_desc(desc))
check("unload", acl.mdl.unload(model))
check("destroy_stream", acl.rt.destroy_stream(stream))
check("destroy_context", acl.rt.destroy_context(context))
check("reset_device", acl.rt.reset_device(0))
check("finalize", acl.finalize())

import onnxruntime  # noqa: E402  only to compare

right = onnxruntime.InferenceSession(sys.argv[2]).run(None, {"x": image})[0].ravel()
for name, result in zip(("execute", "execute_async"), results, strict=True):
    print(f"{name}: largest difference from onnxruntime {abs(result - right).max():.4f}")
    failed |= not np.allclose(result, right, rtol=1e-2, atol=1e-2)
sys.exit(failed)
