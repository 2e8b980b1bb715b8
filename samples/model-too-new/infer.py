"""Load a model, run it synchronously and asynchronously, print every code and the first result."""

import sys

import acl
import numpy as np

H2D, D2H = 1, 2

acl.init()
acl.rt.set_device(0)
model, code = acl.mdl.load_from_file(sys.argv[1])
print("load", code)
desc = acl.mdl.create_desc()
print("describe", acl.mdl.get_desc(desc, model))


def dataset(size):
    pointer, _ = acl.rt.malloc(size, 0)
    made = acl.mdl.create_dataset()
    acl.mdl.add_dataset_buffer(made, acl.create_data_buffer(pointer, size))
    return made, pointer


data = np.arange(4, dtype=np.float32).reshape(1, 4)
inputs, source = dataset(acl.mdl.get_input_size_by_index(desc, 0))
outputs, result = dataset(acl.mdl.get_output_size_by_index(desc, 0))
acl.rt.memcpy(source, data.nbytes, acl.util.bytes_to_ptr(data.tobytes()), data.nbytes, H2D)
code = acl.mdl.execute(model, inputs, outputs)
print("execute", code)
if code != 0:
    print(acl.get_recent_err_msg())
stream, _ = acl.rt.create_stream()
print("execute_async", acl.mdl.execute_async(model, inputs, outputs, stream))
late = acl.rt.synchronize_stream(stream)
print("synchronize_stream", late)
host, _ = acl.rt.malloc_host(data.nbytes)
acl.rt.memcpy(host, data.nbytes, result, data.nbytes, D2H)
print("result", np.frombuffer(acl.util.ptr_to_bytes(host, data.nbytes), np.float32).tolist())
acl.finalize()
sys.exit(code != 0 or late != 0)
