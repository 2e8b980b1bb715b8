"""usage: serve.py MODEL.om: answer 24 requests of different batch sizes; prints us per request and a sum of the results."""

import sys
import time

import acl
import numpy as np

H2D, D2H = 1, 2
FLOAT, ND = 0, 2
WIDTH, RESULT, LARGEST, GEARS = 256, 256, 32, (8, 16, 32)
sizes = [int(n) for n in np.random.default_rng(4).integers(1, LARGEST + 1, 24)]

acl.init()
acl.rt.set_device(0)
model, code = acl.mdl.load_from_file(sys.argv[1])
assert code == 0, acl.get_recent_err_msg()
desc = acl.mdl.create_desc()
acl.mdl.get_desc(desc, model)
gears = acl.mdl.get_num_inputs(desc) == 2


def dataset(*counts):
    made, addresses = acl.mdl.create_dataset(), []
    for count in counts:
        address, _ = acl.rt.malloc(count, 0)
        acl.mdl.add_dataset_buffer(made, acl.create_data_buffer(address, count))
        addresses.append(address)
    return made, addresses


inputs, (source, *_) = dataset(LARGEST * WIDTH * 4, *((8,) if gears else ()))
outputs, (target,) = dataset(LARGEST * RESULT * 4)
data = np.random.default_rng(5).normal(size=(LARGEST, WIDTH)).astype(np.float32)
acl.rt.memcpy(source, data.nbytes, acl.util.bytes_to_ptr(data.tobytes()), data.nbytes, H2D)
host, _ = acl.rt.malloc_host(LARGEST * RESULT * 4)


def answer(batch):
    """One request: choose the shape, run, wait."""
    if gears:
        index, _ = acl.mdl.get_input_index_by_name(desc, "ascend_mbatch_shape_data")
        code = acl.mdl.set_dynamic_batch_size(model, inputs, index, next(g for g in GEARS if g >= batch))
    else:
        _, code = acl.mdl.set_dataset_tensor_desc(inputs, acl.create_tensor_desc(FLOAT, [batch, WIDTH], ND), 0)
    assert code == 0, acl.get_recent_err_msg()
    code = acl.mdl.execute(model, inputs, outputs)
    assert code == 0, acl.get_recent_err_msg()


answer(sizes[0])
begun = time.perf_counter()
for size in sizes:
    answer(size)
print(f"us {(time.perf_counter() - begun) * 1e6 / len(sizes):.1f}")
acl.rt.memcpy(host, sizes[-1] * RESULT * 4, target, sizes[-1] * RESULT * 4, D2H)
print(f"sum {np.frombuffer(acl.util.ptr_to_bytes(host, sizes[-1] * RESULT * 4), np.float32).sum():.2f}")
acl.finalize()
