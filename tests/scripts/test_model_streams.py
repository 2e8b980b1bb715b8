"""Independent branches of a model: several streams in the plan, side by side on the device, the same numbers."""

import numpy as np
import pytest

import profiler
from npu.graph.stream_plan import assign
from tests.made_onnx import ORIGIN, convert, expected, model, node

RNG = np.random.default_rng(12)
SCRIPT = """
    import sys
    import numpy as np
    from npu.session import InferenceSession
    session = InferenceSession(sys.argv[1])
    x = np.load("x.npy")
    for _ in range(3):
        y = session.run(None, {"x": x})[0]
    np.save("y.npy", y)
    session.close()
"""


@pytest.fixture
def branches(tmp_path):
    """Two long branches from one input, each of three products of 1024, joined by an addition."""
    nodes, constants = [], {}
    for side in "ab":
        last = "x"
        for n in range(3):
            constants[f"{side}w{n}"] = (RNG.normal(size=(1024, 1024)) / 32).astype(np.float32)
            nodes += [node("MatMul", f"{last} {side}w{n}", f"{side}{n}"), node("Softmax", f"{side}{n}", f"{side}s{n}")]
            last = f"{side}s{n}"
    nodes.append(node("Add", "as2 bs2", "y"))
    return model(nodes, "y", constants, {"x": [64, 1024]})


def test_chains_get_streams_and_an_event_where_they_meet():
    # 0 -> 1 -> 3, 0 -> 2 -> 3 with long branches
    made = assign([[], [0], [0], [1, 2]], [5_000, 40_000, 30_000, 5_000])
    assert made.stream == (0, 0, 1, 0) and made.events == ((0, 2), (2, 3))


def test_a_branch_too_short_to_pay_for_its_events_stays():
    assert assign([[], [0], [0], [1, 2]], [5_000, 40_000, 3_000, 5_000]).stream == (0, 0, 0, 0)
    assert assign([[], [0], [0], [1, 2]], [5_000, 40_000, 30_000, 5_000], single=True).events == ()


def test_an_edge_that_an_earlier_event_orders_needs_none():
    made = assign([[], [0], [0], [2], [1, 2], [4, 3]], [1_000, 90_000, 40_000, 40_000, 90_000, 1_000])
    crossing = [(a, b) for a, b in made.events if made.stream[a] == 1]
    assert crossing == [(2, 4), (3, 5)]


@pytest.mark.slow
def test_branches_overlap_on_the_device_and_compute_the_same(start, tmp_path, branches):
    summary = convert(branches, tmp_path, **ORIGIN)
    assert {k.stream for k in summary.model.kernels} == {0, 1} and len(summary.model.events) == 1
    one = convert(branches, tmp_path, output=str(tmp_path / "one"), enable_single_stream="true", **ORIGIN)
    assert {k.stream for k in one.model.kernels} == {0}
    x = RNG.normal(size=(64, 1024)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    spans = {}
    for name in ("m", "one"):
        ran = start(
            "msprof", "run", "--clock", "model", "--no-summary", "--output", name, "script.py", f"{name}.om", script=SCRIPT
        )
        assert ran.code == 0, ran.out + ran.err
        np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected(branches, {"x": x})[0], rtol=1e-3, atol=1e-6)
        trace = profiler.open(next((tmp_path / name).glob("PROF_*")))
        rows = np.flatnonzero(trace.tasks_of("kernel"))
        rows = rows[np.argsort(trace.task["start"][rows])][-len(summary.model.kernels) :]
        spans[name] = int(trace.task["end"][rows].max() - trace.task["start"][rows].min())
        assert len(set(trace.task["stream"][rows].tolist())) == (2 if name == "m" else 1)
    assert spans["m"] < spans["one"]
