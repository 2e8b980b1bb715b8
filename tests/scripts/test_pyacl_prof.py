"""acl.prof and mstx: order of calls, marks, operator times through a pipe."""

from __future__ import annotations

import json

import numpy as np
import pytest

from profiler.read.own import read
from tests import made_onnx
from tests.scripts.acl_script import said


def test_profiling_calls_have_an_order(start):
    assert said(
        start,
        """
c = acl.prof.create_config([0, 1], 1, 0, 0x1 | 0x2)
print(
    c > 0,
    acl.prof.create_config([], 1, 0, 1),
    acl.prof.create_config([0, 9], 1, 0, 1),
    acl.prof.create_config([0], 77, 0, 1),
    acl.prof.create_config([0], 1, 0, 0),
)
print(
    acl.prof.start(c), acl.prof.stop(c), acl.prof.set_config(3, "15"), acl.prof.finalize(), acl.prof.init("/no/such/folder")
)
print(
    acl.prof.init("."),
    acl.prof.init("."),
    acl.prof.set_config(3, "15"),
    acl.prof.set_config(2, "15"),
    acl.prof.set_config(3, ""),
    acl.prof.stop(c),
)
print(
    acl.prof.start(c),
    acl.prof.start(c),
    acl.prof.destroy_config(c),
    acl.prof.stop(c),
    acl.prof.destroy_config(c),
    acl.prof.start(c),
    acl.prof.finalize(),
    acl.prof.finalize(),
)
""",
    ) == [
        "True 0 0 0 0",
        "100043 100043 100043 100043 100000",
        "0 100042 0 100010 100010 100043",
        "0 100042 100042 0 0 100000 0 100043",
    ]


def test_stamps_ranges_and_steps_answer(start):
    assert said(
        start,
        """
s, _ = acl.rt.create_stream()
a = acl.prof.create_stamp()
step = acl.prof.create_step_info()
print(
    acl.prof.mark(a),
    acl.prof.set_stamp_trace_message(a, "load", 4),
    acl.prof.mark(a),
    acl.prof.push(a),
    acl.prof.pop(),
    acl.prof.pop(),
)
n, ret = acl.prof.range_start(a)
print(ret, acl.prof.range_stop(n), acl.prof.range_stop(n), acl.prof.mark_ex("here", s), acl.prof.mark_ex("x" * 200, s))
print(
    acl.prof.get_step_timestamp(step, 0, s),
    acl.prof.get_step_timestamp(step, 1, s),
    acl.prof.get_step_timestamp(step, 2, s),
    acl.rt.synchronize_stream(s),
)
print(acl.prof.destroy_stamp(a), acl.prof.destroy_step_info(step), acl.prof.mark(a))
""",
    ) == ["100000 0 0 0 0 100000", "0 0 100000 0 100000", "0 0 100000 0", "None None 100000"]


@pytest.fixture
def model(tmp_path):
    """A converted model of two matrix products."""
    rng = np.random.default_rng(1)
    nodes = [made_onnx.node("MatMul", "x v", "h"), made_onnx.node("MatMul", "h w", "y")]
    weights = {n: rng.standard_normal((8, 8)).astype(np.float32) for n in "vw"}
    return made_onnx.convert(made_onnx.model(nodes, "y", weights, {"x": [4, 8]}), tmp_path, **made_onnx.ORIGIN).path


def test_operator_times_come_through_a_pipe(start, model):
    assert said(
        start,
        f"""
import os
out, into = os.pipe()
m, ret = acl.mdl.load_from_file({str(model)!r})
config = acl.prof.create_subscribe_config(1, 0, into)
print(
    ret,
    acl.prof.model_subscribe(m, config),
    acl.prof.model_subscribe(m, config),
    acl.prof.init("."),
    acl.prof.model_subscribe(99, config),
)
d = acl.mdl.create_desc()
acl.mdl.get_desc(d, m)
def dataset(count, size):
    made = acl.mdl.create_dataset()
    for n in range(count(d)):
        acl.mdl.add_dataset_buffer(made, acl.create_data_buffer(acl.rt.malloc(size(d, n), 0)[0], size(d, n)))
    return made
print(
    acl.mdl.execute(
        m,
        dataset(acl.mdl.get_num_inputs, acl.mdl.get_input_size_by_index),
        dataset(acl.mdl.get_num_outputs, acl.mdl.get_output_size_by_index),
    )
)
size, ret = acl.prof.get_op_desc_size()
data = os.read(out, size * 100)
p = acl.util.bytes_to_ptr(data)
n, ret = acl.prof.get_op_num(p, len(data))
kinds = [acl.prof.get_op_type(p, len(data), k, 65)[0] for k in range(n)]
print(
    ret,
    n,
    kinds,
    acl.prof.get_op_name(p, len(data), 0, 257)[1],
    acl.prof.get_op_name_v2(p, len(data), 0) == acl.prof.get_op_name(p, len(data), 0, 257),
)
print(
    all(
        acl.prof.get_op_end(p, len(data), k)
        - acl.prof.get_op_start(p, len(data), k)
        - acl.prof.get_op_duration(p, len(data), k)
        in (0, 1)
        for k in range(n)
    ),
    acl.prof.get_model_id(p, len(data), 0) == m,
    acl.prof.get_op_type_len(p, len(data), 0)[0] == len(kinds[0]) + 1,
    acl.prof.get_op_num(p, 7)[1],
    acl.prof.get_op_name(p, len(data), n, 9)[1],
)
print(
    acl.prof.model_unsubscribe(m),
    acl.prof.model_un_subscribe(m),
    acl.prof.destroy_subscribe_config(config),
    acl.prof.init("."),
)
""",
    ) == [
        "0 0 148046 148047 145003",
        "0",
        "0 2 ['MatMulV2', 'MatMulV2'] 0 True",
        "True True True 100000 100000",
        "0 100000 0 0",
    ]


def test_the_readers_loop_ends_with_the_last_subscription(start, model):
    """A thread reads until the pipe ends; models are unloaded before they are unsubscribed, and both ends are closed by the script."""
    assert said(
        start,
        f"""
import os
out, into = os.pipe()
size, seen = acl.prof.get_op_desc_size()[0], []
def reading(args):
    while True:
        data = os.read(args[0], size * 10)
        if len(data) == 0:
            break
        seen.append(len(data) // size)
def run(m):
    d = acl.mdl.create_desc()
    acl.mdl.get_desc(d, m)
    sets = []
    for count, bytes_of in ((acl.mdl.get_num_inputs, acl.mdl.get_input_size_by_index),
                            (acl.mdl.get_num_outputs, acl.mdl.get_output_size_by_index)):
        sets.append(acl.mdl.create_dataset())
        for n in range(count(d)):
            acl.mdl.add_dataset_buffer(sets[-1], acl.create_data_buffer(acl.rt.malloc(bytes_of(d, n), 0)[0], bytes_of(d, n)))
    return acl.mdl.execute(m, *sets)
config = acl.prof.create_subscribe_config(1, 0, into)
first, second = (acl.mdl.load_from_file({str(model)!r})[0] for _ in range(2))
print([acl.prof.model_subscribe(m, config) for m in (first, second)])
thread, ret = acl.util.start_thread(reading, [out])
print(run(first), acl.mdl.unload(first), acl.prof.model_un_subscribe(first), run(second))
print(acl.prof.model_un_subscribe(second), acl.util.stop_thread(thread), sum(seen))
os.close(out)
os.close(into)
""",
    ) == ["[0, 0]", "0 0 0 0", "0 0 4"]


def test_marks_are_recorded_with_their_ranges_and_streams(start):
    """mstx and acl.prof marks land in the capture with simulated times; one on a stream has a task of the device."""
    ran = start(
        "msprof",
        "run",
        "--clock",
        "model",
        "--no-summary",
        "script.py",
        script="""
import acl, mstx, time
acl.init()
acl.rt.set_device(0)
s, _ = acl.rt.create_stream()
mstx.mark("begin")
n = mstx.range_start("copying", s)
time.sleep(0.25)
mstx.range_end(n)
with mstx.mstx_range("block", domain="mine"):
    time.sleep(0.125)
print(mstx.range_start(""), mstx.range_end(77))
acl.rt.synchronize_stream(s)
""",
    )
    assert ran.code == 0 and ran.out.splitlines()[0] == "0 None", ran.err
    trace = read(ran.profs[0])
    names = [trace.strings[int(n)] for n in trace.marker["name"]]
    length = dict(zip(names, (trace.marker["end"] - trace.marker["start"]).tolist(), strict=True))
    assert names == ["begin", "copying", "block"]
    assert (
        length["begin"] == 0
        and length["copying"] == pytest.approx(250_001_000, abs=2_000)
        and length["block"] == pytest.approx(125_001_000, abs=2_000)
    )
    assert json.loads((ran.profs[0] / "npuscope" / "meta.json").read_text())["pid"]
    marks = trace.marker["correlation"] >= 0
    assert [n for n, m in zip(names, marks, strict=True) if m] == ["copying"]
    assert set(trace.marker["correlation"][marks]) <= set(trace.task["correlation"])
