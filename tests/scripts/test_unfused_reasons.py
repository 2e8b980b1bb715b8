"""A model that was converted unfused: msprof analyze names the pass, and why atc did not apply it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.made_onnx import convert, model, node
from tests.scripts.conftest import Run

pytestmark = pytest.mark.slow

BLOCKS = 12
SCRIPT = """
    import numpy as np
    from npu.session import InferenceSession

    session = InferenceSession("m.om")
    x = np.zeros((1, 32, 56, 56), np.float32)
    for _ in range(4):
        session.run(None, {"x": x})
"""


def network(two_readers: bool):
    """Blocks of convolution, batch normalisation and activation; with two readers the convolution's result is added behind them."""
    rng = np.random.default_rng(0)
    ones, zeros = np.ones(32, np.float32), np.zeros(32, np.float32)
    held = {"w": rng.normal(scale=0.05, size=(32, 32, 3, 3)).astype(np.float32), "scale": ones, "offset": zeros, "mean": zeros, "var": ones}
    nodes, data = [], "x"
    for at in range(BLOCKS):
        nodes += [node("Conv", f"{data} w", f"c{at}", pads=[1, 1, 1, 1]), node("BatchNormalization", f"c{at} scale offset mean var", f"n{at}"),
                  node("Relu", f"n{at}", f"r{at}")]  # fmt: skip
        data = f"r{at}"
        if two_readers:
            nodes.append(node("Add", f"c{at} r{at}", f"s{at}"))
            data = f"s{at}"
    return model(nodes, data, held, {"x": [1, 32, 56, 56]})


def finding(start: Run, folder) -> dict[str, object]:
    ran = start("msprof", "run", "--clock", "model", "--no-summary", "--output", "out", "script.py", script=SCRIPT)
    assert ran.code == 0, ran.err
    told = start("msprof", "analyze", str(ran.profs[0]), "--json", "--all")
    return next(f for f in json.loads(told.out)["findings"] if f["id"] == "unfused-pattern")


def test_a_second_reader(start: Run, tmp_path) -> None:
    convert(network(True), tmp_path)
    found = finding(start, tmp_path)
    assert "ConvBatchnormFusionPass" in found["advice"]
    assert (
        f"atc left {BLOCKS} of these places as they are, BatchNormalization_n0 for one: "
        "the convolution's output c0 is also used by Add_s0." in found["claim"]
    )


@pytest.mark.parametrize("text", ["ALL:off\n", "ConvBatchnormFusionPass:off\nTbeConv2DReluv2Pass:off\n"])
def test_switched_off(start: Run, tmp_path, text: str) -> None:
    (tmp_path / "off").write_text(text)
    convert(network(False), tmp_path, fusion_switch_file=str(tmp_path / "off"))
    found = finding(start, tmp_path)
    assert "The model was converted with ConvBatchnormFusionPass" in found["claim"] and "switched off." in found["claim"]
    assert "--fusion_switch_file" in found["advice"]
