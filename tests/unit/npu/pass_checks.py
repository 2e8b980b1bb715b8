"""What the tests of fusion passes share: models of the constants they read, the numbers beside the reference's, what a pass did."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from npu.ops.compute import Session
from tests.made_onnx import expected, model


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


def outcome(summary: Any, name: str) -> Any:
    """What a pass matched and did."""
    return {**summary.counts["graph_fusion"], **summary.counts["ub_fusion"]}[name]
