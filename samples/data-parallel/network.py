"""A network of three dense layers in numpy, with a batch that is dealt out over ranks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

SIZES = (128, 512, 512, 8)
BATCH = 64
BACKWARD = 0.0004  # s a layer: what the device would take


def batch(step: int, rank: int, ranks: int) -> tuple[np.ndarray, np.ndarray]:
    """This rank's part of a step's batch: inputs, and what the network should say."""
    rng = np.random.default_rng(step % 4)
    inputs = rng.normal(size=(BATCH, SIZES[0])).astype(np.float32)
    wanted = np.tanh(inputs[:, : SIZES[-1]] * 2).astype(np.float32)
    mine = slice(rank * BATCH // ranks, (rank + 1) * BATCH // ranks)
    return inputs[mine], wanted[mine]


class Network:
    """Weights, and gradients scaled so that their sum over ranks is that of the whole batch."""

    rate = 0.05

    def __init__(self) -> None:
        rng = np.random.default_rng(7)
        shapes = pairwise(SIZES)
        self.weights = [(rng.normal(size=s) / np.sqrt(s[0])).astype(np.float32) for s in shapes]
        self.gradient = np.zeros(max(w.size for w in self.weights), np.float32)  # room for one layer's
        self._values: list[np.ndarray] = []

    def forward(self, inputs: np.ndarray) -> np.ndarray:
        self._values = [inputs]
        for layer, weight in enumerate(self.weights):
            value = self._values[-1] @ weight
            self._values.append(np.maximum(value, 0) if layer + 1 < len(self.weights) else value)
        return self._values[-1]

    def backward(self, wanted: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """(layer, gradient), the last layer first, each as soon as it is known."""
        error = 2 * (self._values[-1] - wanted) / (BATCH * SIZES[-1])
        for layer in reversed(range(len(self.weights))):
            time.sleep(BACKWARD)
            yield layer, np.ascontiguousarray(self._values[layer].T @ error, np.float32)
            error = (error @ self.weights[layer].T) * (self._values[layer] > 0)

    def loss(self, inputs: np.ndarray, wanted: np.ndarray) -> float:
        return float(np.mean((self.forward(inputs) - wanted) ** 2))
