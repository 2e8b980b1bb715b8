"""Regression that single odd rows do not pull away: what bench/fitting.py starts its search for constants from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ROUNDS = 15
CLOSE, FAR = 0.03, 0.6  # errors below CLOSE count alike, those beyond FAR less and less


def non_negative(rows: Sequence[Sequence[float]], values: Sequence[float]) -> list[float]:
    """Coefficients, none below 0, for which the mean of |log(rows @ coefficients / values)| is about smallest.

    rows: (n, k), values: (n,), all positive. Least squares again and again: each round weighs a row by what makes its squared
    error the error of its logarithm. A single start and no chance in it: the same rows give the same coefficients.
    """
    x, y = np.asarray(rows, float), np.asarray(values, float)
    weight = 1 / y**2
    found = np.zeros(x.shape[1])
    for _ in range(ROUNDS):
        before = found
        found = _solve((x * weight[:, None]).T @ x, (x * weight[:, None]).T @ y)
        if np.allclose(found, before, rtol=1e-4, atol=1e-9):
            break
        made = np.maximum(x @ found, 1e-3 * y)
        off = np.abs(np.log(made / y))
        weight = np.minimum(1, FAR / np.maximum(off, 1e-9)) / (made * y * np.maximum(off, CLOSE))
    return [float(v) for v in found]


def _solve(gram: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least squares with no coefficient below 0: the most negative one is taken out until there is none."""
    found, left = np.zeros(len(right)), [j for j, own in enumerate(np.diag(gram)) if own > 0]
    while left:
        made = np.linalg.lstsq(gram[np.ix_(left, left)], right[left], rcond=None)[0]
        if made.min() >= 0:
            found[left] = made
            break
        del left[int(made.argmin())]
    return found
