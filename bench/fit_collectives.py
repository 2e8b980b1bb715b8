"""Fit the constants of collectives on the A3 fabric: python bench/fit_collectives.py FILE.csv [--write] [--soc TEXT]

FILE holds measured collectives with the columns op, ranks, message_bytes, latency_us, transport, soc (others are not read). For
each operation and number of ranks five constants are sought that make the mean of |log(modelled / measured)|, cut at 0.5 for a
single odd row, smallest: by Nelder-Mead for each place of the change from direct to staged between two measured sizes.
Printed are the error on the rows themselves and, the honest figure, on each row when it is left out of the fit.
--write replaces npu/data/fabric_costs.csv.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from math import exp, log, sqrt
from pathlib import Path
from typing import TypeAlias

from npu.cost.fabric import WIRE, Fit

DATA = Path(__file__).resolve().parents[1] / "npu/data/fabric_costs.csv"
FABRIC = "A3"  # in the soc column of rows of that fabric
CUTS = (1e5, 5e7)  # bytes on the wire between which the change lies
PULL = 0.002  # how strongly constants are held near their first guess: a third of the rows would not hold five alone
ODD = 0.5  # a row is not counted as further off than this
ROUNDS = 600

Point: TypeAlias = tuple[float, float]  # bytes on the wire, ns
Vector: TypeAlias = list[float]


def points(rows: Iterable[Mapping[str, str]], soc: str = FABRIC) -> dict[tuple[str, int], list[Point]]:
    """(operation, ranks) -> measured points, by size."""
    made: dict[tuple[str, int], list[Point]] = defaultdict(list)
    for row in rows:
        if row["op"] in WIRE and row["message_bytes"] and row["latency_us"] and soc in row["soc"]:
            ranks = int(row["ranks"])
            made[row["op"], ranks].append((WIRE[row["op"]](ranks, int(row["message_bytes"])), float(row["latency_us"]) * 1000))
    return {key: sorted(values) for key, values in sorted(made.items())}


def smallest(f: Callable[[Vector], float], start: Vector, size: float = 0.3) -> tuple[Vector, float]:
    """Where f is smallest, by Nelder-Mead from a start, and its value there."""
    corners = [list(start), *([x + size * (i == j) for j, x in enumerate(start)] for i in range(len(start)))]
    valued = sorted((f(c), c) for c in corners)
    for _ in range(ROUNDS):
        (best, _), (second, _), (worst, last) = valued[0], valued[-2], valued[-1]
        if worst - best < 1e-9:
            break
        middle = [sum(x) / len(start) for x in zip(*(c for _, c in valued[:-1]), strict=True)]

        def along(t: float, middle: Vector = middle, last: Vector = last) -> tuple[float, Vector]:
            point = [m + t * (m - x) for m, x in zip(middle, last, strict=True)]
            return f(point), point

        tried = along(1.0)
        if tried[0] < best:
            tried = min(tried, along(2.0))
        elif tried[0] >= second:
            tried = along(-0.5)
        if tried[0] < worst:
            valued[-1] = tried
        else:
            first = valued[0][1]
            shrunk = [[a + 0.5 * (x - a) for a, x in zip(first, c, strict=True)] for _, c in valued[1:]]
            valued = [valued[0], *((f(c), c) for c in shrunk)]
        valued.sort()
    return valued[0][1], valued[0][0]


def fit(op: str, measured: Sequence[Point]) -> Fit:
    """The constants for one operation and number of ranks."""
    floor, staged = (10_000.0, 140.0) if op == "all_to_all" else (100_000.0, 200.0)
    guess = [log(v) for v in (min(t for _, t in measured), 80.0, floor, staged)]
    wires = [w for w, _ in measured]
    best: tuple[float, Fit] | None = None
    for cut in [sqrt(a * b) for a, b in pairwise(wires) if CUTS[0] < sqrt(a * b) < CUTS[1]]:

        def off(logs: Vector, cut: float = cut) -> float:
            made = Fit(*map(exp, logs), cut)
            errors = (min(abs(log(made.duration(w) / t)), ODD) for w, t in measured)
            return statistics.fmean(errors) + PULL * sum((a - b) ** 2 for a, b in zip(logs, guess, strict=True))

        logs, value = smallest(off, guess)
        if best is None or value < best[0]:
            best = value, Fit(*map(exp, logs), cut)
    if best is None:
        raise ValueError(f"{op}: no two sizes with {CUTS[0]:.0f} to {CUTS[1]:.0f} bytes on the wire between them")
    return best[1]


def error(made: Fit, point: Point) -> float:
    return abs(made.duration(point[0]) / point[1] - 1)


def left_out(op: str, measured: Sequence[Point]) -> list[float]:
    """The error of each point under a fit to all the others."""
    return [error(fit(op, [*measured[:i], *measured[i + 1 :]]), point) for i, point in enumerate(measured)]


def main() -> int:
    parser = argparse.ArgumentParser(description="Fit the constants of collectives on the A3 fabric.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--write", action="store_true", help=f"replace {DATA.name}")
    parser.add_argument("--soc", default=FABRIC, help="text in the soc column of the rows to take")
    options = parser.parse_args()
    with options.file.open(encoding="utf-8", newline="") as stream:
        measured = points(csv.DictReader(stream), options.soc)
    fits = {key: fit(key[0], values) for key, values in measured.items()}
    print(f"{'operation':<16}{'rows':>5}{'median':>9}{'mean':>9}{'left out: median':>19}{'mean':>9}")
    for op in WIRE:
        own = [error(fits[key], p) for key, values in measured.items() if key[0] == op for p in values]
        honest = [e for key, values in measured.items() if key[0] == op for e in left_out(op, values)]
        print(f"{op:<16}{len(own):>5}{statistics.median(own):>9.1%}{statistics.fmean(own):>9.1%}"
              f"{statistics.median(honest):>19.1%}{statistics.fmean(honest):>9.1%}")  # fmt: skip
    if options.write:
        with DATA.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(("op", "ranks", "latency_ns", "direct_gbps", "floor_ns", "staged_gbps", "cut_bytes"))
            for (op, ranks), f in fits.items():
                writer.writerow((op, ranks, round(f.latency), f"{f.direct:.2f}", round(f.floor), f"{f.staged:.2f}", round(f.cut)))
        print(f"written: {DATA}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
