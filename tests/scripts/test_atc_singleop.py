"""atc --singleop: operators as model files, and a program that runs them by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.scripts.acl_script import said

pytestmark = pytest.mark.slow  # many starts of programs


def desc(kind: str, *dims: int, **more: Any) -> dict[str, Any]:
    return {"format": "ND", "shape": list(dims), "type": kind, **more}


ADD = {"op": "Add", "input_desc": [desc("int32", 8, 16)] * 2, "output_desc": [desc("int32", 8, 16)]}
CAST = {"op": "Cast", "input_desc": [desc("float", 10)], "output_desc": [desc("float16", 10)],
        "attr": [{"name": "truncate", "type": "bool", "value": False}]}  # fmt: skip
LABEL = {"op": "ArgMaxD", "input_desc": [desc("float16", 10)], "output_desc": [desc("int32", 1)],
         "attr": [{"name": "dimension", "type": "int", "value": 0}]}  # fmt: skip


def convert(start, tmp_path: Path, text: str, *words: str):
    (tmp_path / "op.json").write_text(text)
    return start("atc", "--singleop=op.json", *(words or ("--output=ops", "--soc_version=Ascend910B3")))


@pytest.mark.slow
def test_operators_of_a_list_become_files_that_a_program_runs(start, tmp_path):
    done = convert(start, tmp_path, json.dumps([ADD, CAST, LABEL]))
    assert done.code == 0 and "ATC run success" in done.out
    assert sorted(p.name for p in (tmp_path / "ops").iterdir()) == [
        "0_Add_3_2_8_16_3_2_8_16_3_2_8_16.om", "1_Cast_0_2_10_1_2_10.om", "2_ArgMaxD_1_2_10_3_2_1.om",
    ]  # fmt: skip
    assert said(
        start,
        """
print(acl.op.set_model_dir("ops"))
s, _ = acl.rt.create_stream()
def put(a):
    p, _ = acl.rt.malloc(a.nbytes, 2)
    acl.rt.memcpy(p, a.nbytes, acl.util.bytes_to_ptr(a.tobytes()), a.nbytes, 1)
    return acl.create_data_buffer(p, a.nbytes)
def got(b, kind):
    a = np.zeros(acl.get_data_buffer_size_v2(b), np.uint8)
    acl.rt.memcpy(a.ctypes.data, a.nbytes, acl.get_data_buffer_addr(b), a.nbytes, 2)
    return a.view(kind)
t = lambda kind, *dims: acl.create_tensor_desc(kind, list(dims), 2)
a = np.arange(128, dtype=np.int32)
x, y = put(a), put(a * 0)
attr = acl.op.create_attr()
print(acl.op.execute_v2("Add", [t(3, 8, 16)] * 2, [x, x], [t(3, 8, 16)], [y], attr, s), acl.rt.synchronize_stream(s), (got(y, np.int32) == 2 * a).all())
v = np.array([3, 1, 9, 2, 4, 1, 1, 0, 8, 5], np.float32)
h, label = put(v.astype(np.float16) * 0), put(np.zeros(1, np.int32))
print(acl.op.cast(t(0, 10), put(v), t(1, 10), h, 0, s), acl.op.set_attr_int(attr, "dimension", 0))
print(acl.op.execute_v2("ArgMaxD", [t(1, 10)], [h], [t(3, 1)], [label], attr, s), acl.rt.synchronize_stream(s), got(label, np.int32))
print(acl.op.execute_v2("Mul", [t(3, 8, 16)] * 2, [x, x], [t(3, 8, 16)], [y], acl.op.create_attr(), s))
""",
    ) == ["0", "0 0 True", "0 0", "0 0 [2]", "100024"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[", "the file is no JSON"),
        ("{}", "the file must hold a list of operators"),
        ("[{}]", "entry 0 names no op"),
        (json.dumps([{**ADD, "op": "Frobnicate"}]), "Frobnicate: no operator of that type is built in"),
        (json.dumps([{**ADD, "input_desc": [desc("int32", -1, 16)] * 2}]), "Add: x0 has an open shape"),
        (json.dumps([{**ADD, "input_desc": [desc("int33", 8)] * 2}]), "Add: x0 has the type int33"),
        (json.dumps([{**ADD, "output_desc": [desc("int32", 8, 17)]}]), "Add: the result has shape [8, 16], not [8, 17]"),
        (json.dumps([{**LABEL, "input_desc": [desc("float16", 4, is_const=True, const_value=[1])]}]), "const_value of x0"),
    ],
)
def test_a_list_that_cannot_be_built_is_told(start, tmp_path, text, told):
    done = convert(start, tmp_path, text)
    assert done.code == 255 and "E10001" in done.out and told in done.out, done.out


def test_options_of_single_operators(start, tmp_path):
    assert "E10054" in convert(start, tmp_path, json.dumps([ADD]), "--output=ops").out
    missing = start("atc", "--singleop=none.json", "--output=ops", "--soc_version=Ascend910B3").out
    assert "none.json" in missing and "cannot be read: No such file or directory" in missing
    both = convert(start, tmp_path, "[]", "--model=m.onnx", "--output=ops", "--soc_version=Ascend910B3").out
    assert "E10056" in both and "--singleop" in both
