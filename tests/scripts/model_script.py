"""What scripts that load a model begin with. HEAD: bytes to the device and back, data sets, descriptions. SETS: data sets with
memory of the sizes a model asks for."""

from __future__ import annotations

HEAD = """
import acl, numpy as np, ctypes
acl.init()
acl.rt.set_device(0)
def dev(a):
    p, _ = acl.rt.malloc(a.nbytes, 0)
    acl.rt.memcpy(p, a.nbytes, a.ctypes.data, a.nbytes, 1)
    return p
def dataset(*buffers):
    made = acl.mdl.create_dataset()
    for p, n in buffers:
        acl.mdl.add_dataset_buffer(made, acl.create_data_buffer(p, n))
    return made
def host(p, shape):
    a = np.zeros(shape, np.float32)
    acl.rt.memcpy(a.ctypes.data, a.nbytes, p, a.nbytes, 2)
    return a
def described(m):
    d = acl.mdl.create_desc()
    acl.mdl.get_desc(d, m)
    return d
"""

SETS = """
def sets_of(model):
    d = acl.mdl.create_desc(); acl.mdl.get_desc(d, model)
    sets = []
    for count, size_of in ((acl.mdl.get_num_inputs, acl.mdl.get_input_size_by_index),
                           (acl.mdl.get_num_outputs, acl.mdl.get_output_size_by_index)):
        made = acl.mdl.create_dataset()
        for n in range(count(d)):
            acl.mdl.add_dataset_buffer(made, acl.create_data_buffer(acl.rt.malloc(size_of(d, n), 0)[0], size_of(d, n)))
        sets.append(made)
    return sets
"""
