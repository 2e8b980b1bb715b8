"""acl.op and acl.blas: single operators with real results, found by type, shapes and attributes."""

from __future__ import annotations

import pytest

from tests.scripts.acl_script import said

pytestmark = pytest.mark.slow  # many starts of programs

HEAD = """
import acl, numpy as np, warnings
acl.init()
acl.rt.set_device(0)
s, _ = acl.rt.create_stream()
NUMBER = {"float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 4, "int64": 9, "bool": 12}
def dev(a):
    p, _ = acl.rt.malloc(max(a.nbytes, 1), 0)
    acl.rt.memcpy(p, a.nbytes, a.ctypes.data, a.nbytes, 1)
    return p
def host(p, dtype, shape):
    a = np.zeros(shape, dtype)
    acl.rt.memcpy(a.ctypes.data, a.nbytes, p, a.nbytes, 2)
    return a
def desc(dtype, shape):
    return acl.create_tensor_desc(NUMBER[dtype], list(shape), 2)
def attrs(**given):
    a = acl.op.create_attr()
    for n, v in given.items():
        {bool: acl.op.set_attr_bool, int: acl.op.set_attr_int, float: acl.op.set_attr_float, list: acl.op.set_attr_list_int}[
            type(v)
        ](a, n, v)
    return a
def op(name, ins, dtype, shape, v2=False, **given):
    descs = [desc(a.dtype.name, a.shape) for a in ins]
    out = desc(dtype, shape)
    n = max(64, int(np.prod([abs(d) for d in shape])) * 8)
    p, _ = acl.rt.malloc(n, 0)
    ret = (acl.op.execute_v2 if v2 else acl.op.execute)(
        name,
        descs,
        [acl.create_data_buffer(dev(a), a.nbytes) for a in ins],
        [out],
        [acl.create_data_buffer(p, n)],
        attrs(**given),
        s,
    )
    if ret or acl.rt.synchronize_stream(s):
        return ret or "failed"
    return host(
        p, dtype, [acl.get_tensor_desc_dim(out, k) for k in range(acl.get_tensor_desc_num_dims(out))] if v2 else shape
    )
x = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
"""


def test_common_operators_compute(start):
    assert said(
        start,
        """
print(
    np.array_equal(op("Add", [x, x], "float32", (2, 3)), x + x),
    np.array_equal(op("RealDiv", [x, x + 9], "float32", (2, 3)), x / (x + 9)),
    np.array_equal(op("Relu", [x], "float32", (2, 3)), np.maximum(x, 0)),
    np.array_equal(op("Cast", [x], "int32", (2, 3)), x.astype(np.int32)),
    np.allclose(op("SoftmaxV2", [x], "float32", (2, 3), axes=[1]), np.exp(x) / np.exp(x).sum(1, keepdims=True)),
)
print(
    np.array_equal(op("MatMul", [x, x], "float32", (2, 2), transpose_x2=True), x @ x.T),
    np.array_equal(op("TransposeD", [x], "float32", (3, 2), perm=[1, 0]), x.T),
    np.array_equal(op("ReduceSumD", [x], "float32", (2,), axes=[1], keep_dims=False), x.sum(1)),
    np.array_equal(op("ConcatD", [x, x], "float32", (2, 6), concat_dim=1, N=2), np.concatenate([x, x], 1)),
    op("ArgMaxD", [x], "int32", (2,), dimension=1).tolist(),
    np.array_equal(op("Square", [x], "float32", (2, 3)), x * x),
)
b = np.stack([x, x + 1])
print(
    np.array_equal(op("BatchMatMul", [b, b], "float32", (2, 2, 2), adj_x2=True), b @ b.transpose(0, 2, 1)),
    np.allclose(
        op(
            "GEMM",
            [x, x.T.copy(), np.ones((2, 2), np.float32), np.array([2], np.float32), np.array([3], np.float32)],
            "float32",
            (2, 2),
        ),
        2 * (x @ x.T) + 3,
    ),
    np.array_equal(op("SelectV2", [x > 0, x, -x], "float32", (2, 3)), np.abs(x)),
    np.array_equal(op("Greater", [x, x * 0], "bool", (2, 3)), x > 0),
    np.array_equal(op("Mul", [x.astype(np.float16), x.astype(np.float16)], "float16", (2, 3)), (x * x).astype(np.float16)),
)
""",
        head=HEAD,
    ) == ["True True True True True", "True True True True [2, 2] True", "True True True True True"]


def test_open_output_shapes_are_filled_in(start):
    assert said(
        start,
        """
print(op("Add", [x, x[:1]], "float32", (-1, -1), v2=True).tolist() == (x + x[:1]).tolist())
out = desc("float32", (-1, -1))
ins = [desc("float32", (2, 3)), desc("float32", (3, 5))]
print(
    acl.op.infer_shape("MatMul", ins, [], 1, [out], acl.op.create_attr()),
    acl.get_tensor_desc_dim(out, 0),
    acl.get_tensor_desc_dim(out, 1),
    acl.op.infer_shape("MatMul", ins, [], 2, [out], 0),
)
""",
        head=HEAD,
    ) == ["True", "0 2 5 100000"]


def test_what_is_not_found_and_what_does_not_fit(start):
    assert said(
        start,
        """
print(
    op("NoSuchOperator", [x], "float32", (2, 3)),
    op("Add", [x], "float32", (2, 3)),
    op("Add", [x, x], "float32", (5, 3)),
    op("Relu", [x], "float32", (2, 3), alpha=1.0),
)
print(acl.get_recent_err_msg().splitlines()[0])
d = desc("float32", (2, 3))
small = acl.create_data_buffer(dev(x), 4)
good = acl.create_data_buffer(dev(x), 24)
bad = acl.create_data_buffer(x.ctypes.data, 24)
print(
    acl.op.execute("Relu", [d], [small], [d], [good], 0, s),
    acl.op.execute("Relu", [d], [good], [d], [small], 0, s),
    acl.op.execute("Relu", [d], [bad], [d], [good], 0, s),
    acl.op.execute("Relu", [1], [good], [d], [good], 0, s),
    acl.op.execute("Relu", [d], [good, good], [d], [good], 0, s),
)
""",
        head=HEAD,
    ) == [
        "100024 100024 100024 100024",
        "aclopExecute failed, error code 100024, cause op_not_found: "
        "No operator Relu is known for these shapes and types: attribute alpha is not known.",
        "100021 100022 507018 100000 100021",
    ]


def test_handles_casts_and_constants(start):
    assert said(
        start,
        """
d = desc("float32", (2, 3))
p, q = dev(x), dev(x * 0)
handle, ret = acl.op.create_handle("Relu", [d], [d], 0)
print(
    ret,
    acl.op.execute_with_handle(handle, [acl.create_data_buffer(p, 24)], [acl.create_data_buffer(q, 24)], s),
    acl.rt.synchronize_stream(s),
    host(q, "float32", (2, 3)).tolist(),
)
print(
    acl.op.destroy_handle(handle), acl.op.execute_with_handle(handle, [], [], s), acl.op.create_handle("Nothing", [d], [d], 0)
)
h = desc("float16", (2, 3))
print(
    acl.op.cast(d, acl.create_data_buffer(p, 24), h, acl.create_data_buffer(q, 12), 0, s),
    acl.rt.synchronize_stream(s),
    host(q, "float16", (6,)).tolist(),
)
c, ret = acl.op.create_handle_for_cast(d, h, 0)
print(ret, acl.op.update_params("Relu", [d], [d], 0), acl.op.set_max_op_queue_num(0), acl.op.set_max_op_queue_num(100))
perm = desc("int32", (2,))
order = np.array([1, 0], np.int32)
acl.set_tensor_const(perm, order.ctypes.data, 8)
t = desc("float32", (3, 2))
print(
    acl.op.execute(
        "Transpose",
        [d, perm],
        [acl.create_data_buffer(p, 24), acl.create_data_buffer(0, 0)],
        [t],
        [acl.create_data_buffer(q, 24)],
        0,
        s,
    ),
    acl.rt.synchronize_stream(s),
    np.array_equal(host(q, "float32", (3, 2)), x.T),
)
""",
        head=HEAD,
    ) == [
        "0 0 0 [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]",
        "None 100000 (0, 100024)",
        "0 0 [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0]",
        "0 0 100000 0",
        "0 0 True",
    ]


def test_a_model_folder_limits_what_is_found(start):
    assert said(
        start,
        """
import os
os.makedirs("ops/deeper/deeper/too_deep")
open("ops/deeper/deeper/too_deep/damaged.om", "wb").close()
print(
    acl.op.set_model_dir("nowhere"),
    acl.op.set_model_dir("ops"),
    acl.op.set_model_dir("ops"),
    op("Relu", [x], "float32", (2, 3)),
)
junk = b"not a model at all"
print(acl.op.load(acl.util.bytes_to_ptr(junk), len(junk)))
""",
        head=HEAD,
    ) == ["100003 0 100002 100024", "145006"]


def test_products_of_the_blas(start):
    assert said(
        start,
        """
a, b, c = (
    np.random.default_rng(n).standard_normal(shape).astype(np.float16) for n, shape in enumerate(((4, 8), (8, 3), (4, 3)))
)
f32 = lambda *v: dev(np.array(v, np.float32))
f16 = lambda *v: dev(np.array(v, np.float16))
wide = dev(c.astype(np.float32))
print(
    acl.blas.gemm_ex(0, 0, 0, 4, 3, 8, f32(2), dev(a), -1, 1, dev(b), -1, 1, f32(0.5), wide, -1, 0, 0, s),
    acl.rt.synchronize_stream(s),
    np.allclose(host(wide, "float32", (4, 3)), 2 * (a.astype(np.float32) @ b.astype(np.float32)) + 0.5 * c, atol=1e-3),
)
q = dev(c)
print(
    acl.blas.hgemm(1, 1, 0, 4, 3, 8, f16(1), dev(a.T.copy()), -1, dev(b.T.copy()), -1, f16(0), q, -1, 0, s),
    acl.rt.synchronize_stream(s),
    np.allclose(host(q, "float16", (4, 3)), a.astype(np.float32) @ b, atol=0.05),
)
i, j = np.arange(6, dtype=np.int8).reshape(2, 3), np.arange(6, dtype=np.int8).reshape(3, 2)
k = dev(np.ones((2, 2), np.int32))
one = dev(np.array([1], np.int32))
print(
    acl.blas.s8gemm(0, 0, 0, 2, 2, 3, one, dev(i), -1, dev(j), -1, one, k, -1, 0, s),
    acl.rt.synchronize_stream(s),
    host(k, "int32", (2, 2)).tolist(),
)
y = dev(np.zeros(4, np.float16))
v = b[:, 0].copy()
print(
    acl.blas.hgemv(0, 4, 8, f16(1), dev(a), -1, dev(v), -1, f16(0), y, -1, 0, s),
    acl.rt.synchronize_stream(s),
    np.allclose(host(y, "float16", (4,)), a.astype(np.float32) @ v, atol=0.05),
)
y = dev(np.zeros(8, np.float16))
w = c[:, 0].copy()
print(
    acl.blas.gemv_ex(1, 4, 8, f16(1), dev(a), -1, 1, dev(w), -1, 1, f16(0), y, -1, 1, 0, s),
    acl.rt.synchronize_stream(s),
    np.allclose(host(y, "float16", (8,)), a.T.astype(np.float32) @ w, atol=0.05),
)
print(
    acl.blas.hgemm(2, 0, 0, 4, 3, 8, f16(1), q, -1, q, -1, f16(0), q, -1, 0, s),
    acl.blas.hgemm(0, 0, 0, 4, 3, 8, f16(1), q, 8, q, -1, f16(0), q, -1, 0, s),
    acl.blas.hgemm(0, 0, 0, 4, 3, 8, 0, dev(a), -1, dev(b), -1, f16(0), q, -1, 0, s),
)
handle, ret = acl.blas.create_handle_for_hgemm(0, 0, 0, 4, 3, 8, 0)
buffer = lambda p, n: acl.create_data_buffer(p, n)
print(
    ret,
    acl.op.execute_with_handle(
        handle,
        [buffer(dev(a), 64), buffer(dev(b), 48), buffer(q, 24), buffer(f16(1), 2), buffer(f16(0), 2)],
        [buffer(q, 24)],
        s,
    ),
    acl.rt.synchronize_stream(s),
    np.allclose(host(q, "float16", (4, 3)), a.astype(np.float32) @ b, atol=0.05),
    acl.op.execute_with_handle(handle, [], [], s),
    acl.op.destroy_handle(handle),
)
""",
        head=HEAD,
    ) == [
        "0 0 True",
        "0 0 True",
        "0 0 [[11, 14], [29, 41]]",
        "0 0 True",
        "0 0 True",
        "100000 100000 100000",
        "0 0 0 True 100021 None",
    ]
