"""What the tests of fusion passes share: models of the constants they read, the numbers beside the reference's, what a pass did."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from npu.ops.compute import Session
from tests.made_onnx import ORIGIN, convert, expected, model


def of_constants(constants: Mapping[str, np.ndarray], nodes: Sequence[Any], outputs: Any, inputs: Mapping[str, Sequence[int]]) -> Any:
    """A model with those of the constants that its nodes read."""
    read = {i for n in nodes for i in n.input}
    return model(nodes, outputs, {n: a for n, a in constants.items() if n in read}, inputs)


def same(proto: Any, summary: Any, inputs: Mapping[str, Sequence[int]], seed: int = 8) -> None:
    """The converted model gives the reference's numbers for random inputs."""
    random = np.random.default_rng(seed)
    feeds = {n: random.normal(size=d).astype(np.float32) for n, d in inputs.items()}
    for got, right in zip(Session(summary.path).run(feeds), expected(proto, feeds), strict=True):
        np.testing.assert_allclose(got, right, rtol=2e-5, atol=2e-6)


def stays(folder: Path, proto: Any, name: str, inputs: Mapping[str, Sequence[int]], reason: str) -> None:
    """A near miss: the pass does nothing, says why (or, for "", does not see it at all), and the numbers stay."""
    summary = convert(proto, folder, **ORIGIN)
    assert outcome(summary, name).effected == 0
    told = [m.reason for m in summary.near_misses if m.fusion == name]
    assert any(reason in t for t in told) if reason else not told
    same(proto, summary, inputs)


def outcome(summary: Any, name: str) -> Any:
    """What a pass matched and did."""
    return {**summary.counts["graph_fusion"], **summary.counts["ub_fusion"]}[name]
