"""Model files from strangers: whatever is done to an .om, loading and running it gives an error of ours or a result."""

import os
import random
import resource
import time

import numpy as np
import onnx
import pytest
from onnx import helper

from npu import om
from npu.ops.compute import Session
from npu.ops.compute_limits import ComputeError
from tests.made_onnx import ORIGIN, conv_bn, convert, model, node, weights

FEEDS = {"x": np.ones((1, 3, 8, 8), np.float32)}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    made = model([*conv_bn(), node("Relu", "n", "r"), node("Softmax", "r", "y")], "y", weights())
    return convert(made, tmp_path_factory.mktemp("om"), **ORIGIN).path.read_bytes()


def unsealed(data):
    """A file whose digest does not stand in the way, so that the damage reaches the parsers."""
    return data[: data.rindex(b"\x72\x4e\x0a")]


def damaged(data, rng):
    """One of: bytes changed, cut short, a piece doubled, a piece taken out, a length or number blown up; as often a few bits, which
    leave the structure standing and go deeper."""
    kind, at = rng.randrange(10), rng.randrange(len(data))
    piece = rng.randrange(1, 64)
    if kind > 4:
        made = bytearray(data)
        for _ in range(rng.randrange(1, 3)):
            made[rng.randrange(len(made))] ^= 1 << rng.randrange(3)
        return bytes(made)
    if kind == 0:
        made = bytearray(data)
        for _ in range(rng.randrange(1, 8)):
            made[rng.randrange(len(made))] = rng.randrange(256)
        return bytes(made)
    if kind == 1:
        return data[:at]
    if kind == 2:
        return data[:at] + data[at : at + piece] + data[at:]
    if kind == 3:
        return data[:at] + data[at + piece :]
    return data[:at] + b"\xff" * 9 + data[at + 1 :]


def survive(path):
    """Load and run; only errors of ours may come out."""
    try:
        om.load(path)
        results = Session(path).run(FEEDS)
    except (om.BadModel, ComputeError):
        return "refused"
    assert all(isinstance(r, np.ndarray) for r in results)
    return "ran"


def memory():
    """Most memory this process has held so far, bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


@pytest.mark.parametrize(("count", "seed"), [(1000, 20), pytest.param(10_000, 30, marks=pytest.mark.slow)])
def test_damaged_files_give_an_error_or_a_result(data, tmp_path, count, seed):
    rng, seen, path, held = random.Random(seed), {"refused": 0, "ran": 0}, tmp_path / "m.om", 0
    plain, longest = unsealed(data), 0.0
    for number in range(count):
        path.write_bytes(damaged(plain if number % 2 else data, rng))
        begun = time.monotonic()
        seen[survive(path)] += 1
        longest = max(longest, time.monotonic() - begun)
        held = held or memory()  # the first run loads the libraries
    assert seen["refused"] > count // 3 and seen["ran"] > count // 50
    assert longest < 10
    assert memory() - held < 500 << 20


def test_a_sealed_file_never_runs_once_changed(data, tmp_path):
    rng, path = random.Random(21), tmp_path / "m.om"
    for _ in range(50):
        changed = damaged(data, rng)
        if changed == data:
            continue
        path.write_bytes(changed)
        if b"npu.sha256" in changed[-100:]:
            with pytest.raises((om.BadModel, ComputeError)):
                om.load(path)
                Session(path).run(FEEDS)


@pytest.mark.parametrize("entry", ["soc", "build", "io", "plan"])
@pytest.mark.parametrize("value", ["", "[]", "{}", "null", "3", '{"tasks": 1}', '{"inputs": [{}], "outputs": []}', "{" * 5000])
def test_wrong_metadata_is_a_bad_model(data, tmp_path, entry, value):
    proto = onnx.load_from_string(unsealed(data))
    next(p for p in proto.metadata_props if p.key == f"npu.{entry}").value = value
    path = tmp_path / "m.om"
    path.write_bytes(proto.SerializeToString())
    if entry == "soc" or ((entry == "build" and value.startswith('{"')) or (value == "{}" and entry == "build")):
        assert om.load(path).soc is not None
        return
    with pytest.raises(om.BadModel):
        om.load(path)


def crafted(nodes, functions=(), outputs="y"):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, [1])], [helper.make_tensor_value_info(outputs, 1, None)]
    )
    made = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("f", 1)], functions=list(functions)
    )
    made.ir_version = 8
    return made


def nested(depth):
    """Functions that each call the one before twice: 2^depth nodes once expanded."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]
    made = [helper.make_function("f", "f0", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], opsets)]
    for n in range(1, depth):
        inner = [helper.make_node(f"f{n - 1}", ["a"], ["c"], domain="f"), helper.make_node(f"f{n - 1}", ["c"], ["b"], domain="f")]
        made.append(helper.make_function("f", f"f{n}", ["a"], ["b"], inner, opsets))
    return crafted([helper.make_node(f"f{depth - 1}", ["x"], ["y"], domain="f")], made)


def itself():
    inner = [helper.make_node("g", ["a"], ["b"], domain="f")]
    loop = helper.make_function("f", "g", ["a"], ["b"], inner, [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)])
    return crafted([helper.make_node("g", ["x"], ["y"], domain="f")], [loop])


def endless():
    body = helper.make_graph([helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Identity", ["v"], ["w"])], "body",
                             [helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("c", 9, []),
                              helper.make_tensor_value_info("v", 1, [1])],
                             [helper.make_tensor_value_info("d", 9, []), helper.make_tensor_value_info("w", 1, [1])])  # fmt: skip
    trips = helper.make_node("Constant", [], ["n"], value=helper.make_tensor("n", 7, [], [1 << 62]))
    go = helper.make_node("Constant", [], ["t"], value=helper.make_tensor("t", 9, [], [True]))
    return crafted([trips, go, helper.make_node("Loop", ["n", "t", "x"], ["y"], body=body)])


@pytest.mark.parametrize("make", [lambda: nested(26), itself, endless], ids=["nested calls", "calls itself", "endless loop"])
def test_crafted_files_end_soon(tmp_path, make):
    path, begun = tmp_path / "m.onnx", time.monotonic()
    path.write_bytes(make().SerializeToString())
    with pytest.raises(ComputeError):
        Session(path).run({"x": np.ones(1, np.float32)}, time_limit=0.5)
    assert time.monotonic() - begun < 8


def huge(kind, elements):
    """A few hundred bytes that ask for a tensor of that many floats."""

    def constant(name, *values, dims=None):
        return helper.make_node("Constant", [], [name], value=helper.make_tensor(name, 7, [len(values)] if dims is None else dims, values))

    big = {
        "ConstantOfShape": [constant("n", elements), helper.make_node("ConstantOfShape", ["n"], ["big"])],
        "Expand": [constant("n", elements), helper.make_node("Expand", ["x", "n"], ["big"])],
        "Tile": [constant("n", elements), helper.make_node("Tile", ["x", "n"], ["big"])],
        "Pad": [constant("n", 0, elements), helper.make_node("Pad", ["x", "n"], ["big"])],
        "Range": [constant("a", 0, dims=[]), constant("b", elements, dims=[]), constant("d", 1, dims=[]),
                  helper.make_node("Range", ["a", "b", "d"], ["r"]), helper.make_node("Cast", ["r"], ["big"], to=1)],
    }[kind]  # fmt: skip
    made = crafted([*big, helper.make_node("ReduceSum", ["big"], ["y"], keepdims=1)])
    del made.opset_import[1:]
    return made


@pytest.mark.parametrize("kind", ["ConstantOfShape", "Expand", "Tile", "Pad", "Range"])
def test_a_tensor_larger_than_the_memory_for_arithmetic_is_refused(tmp_path, kind):
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    path = tmp_path / "m.onnx"
    path.write_bytes(huge(kind, int(0.6 * pages * size) // 4).SerializeToString())
    held, begun = memory(), time.monotonic()
    with pytest.raises(ComputeError):
        Session(path).run({"x": np.ones(1, np.float32)})
    assert memory() - held < 100 << 20 and time.monotonic() - begun < 8


@pytest.mark.parametrize("kind", ["ConstantOfShape", "Range"])
def test_the_converter_does_not_fold_such_a_tensor(tmp_path, kind):
    held, begun = memory(), time.monotonic()
    assert convert(huge(kind, 1 << 32), tmp_path).model.memory["feature_map"] >= 8 << 30  # 2^32 halves
    assert memory() - held < 100 << 20 and time.monotonic() - begun < 8
