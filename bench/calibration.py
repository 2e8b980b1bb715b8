"""How far the cost model is off, per family of kernels: python bench/calibration.py FILE.csv [--json]

FILE holds measured kernels with the columns source, soc, op_type, input_shapes, input_dtypes, output_shapes, task_type,
duration_us, kernels, attrs, method. Each row that describes one known kernel (or a known short chain) is turned into Work
and costed. Rows timed by an event loop carry its overhead, which is added by the figures of overheads.csv; rows that cannot
be mapped are counted. The error of a row is |modelled - measured| / measured.

FILE may hold collectives instead: columns soc, op, ranks, nodes, message_bytes, latency_us, transport. On an A3 fabric they are
costed by npu.cost.fabric, transfers between two devices of A2 by the link of npu.hccl.topology.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from measured import Case, case

from npu import soc
from npu.cost import fabric_ns, kernel
from npu.cost.fabric import WIRE
from npu.hccl import topology
from npu.soc import Soc

OVERHEADS = Path(__file__).with_name("overheads.csv")
CHIPS = {"Ascend910_24core": "Ascend910_9382", "Ascend910_93(A3)": "Ascend910_9382"}


@cache
def overheads() -> dict[str, float]:
    """us by name: what an event loop's row holds besides its kernels; fitted by fit_costs.py."""
    with OVERHEADS.open(encoding="utf-8", newline="") as stream:
        return {r["family"]: float(r["us"]) for r in csv.DictReader(stream)}


def chip_of(row: Mapping[str, str]) -> Soc:
    return soc.find(CHIPS.get(row["soc"], row["soc"]))


def modelled_us(made: Case, chip: Soc) -> float:
    return overheads().get(made.overhead, 0.0) + sum(kernel(work, chip).duration for work in made.works) / 1000


def errors(rows: Iterable[Mapping[str, str]]) -> tuple[dict[str, list[float]], Counter[str]]:
    """(family -> signed relative errors, operator -> rows that could not be mapped)."""
    found: dict[str, list[float]] = defaultdict(list)
    left: Counter[str] = Counter()
    for row in rows:
        made = case(row)
        if made is None:
            left[row["op_type"]] += 1
            continue
        measured = float(row["duration_us"])
        found[made.family].append(modelled_us(made, chip_of(row)) / measured - 1)
    return dict(found), left


def collective_us(row: Mapping[str, str]) -> float | None:
    """Modelled time of a measured collective or transfer; None where the row is neither, or gives no size."""
    op, soc_name = row["op"], row["soc"]
    if not row["message_bytes"] or not row["latency_us"]:
        return None
    size, ranks = int(row["message_bytes"]), int(row["ranks"])
    if op in WIRE and "A3" in soc_name:
        return fabric_ns(op, ranks, size) / 1000
    if op.endswith("_D2D") and "A2" in soc_name:
        far = row["transport"].startswith("RDMA")
        link = topology.of("910B", 2, 1 if far else 2).link(0, 1)
        return (link.latency + size / min(gbps for _, gbps in link.resources)) / 1000
    return None


def collective_errors(rows: Iterable[Mapping[str, str]]) -> tuple[dict[str, list[float]], Counter[str]]:
    """As errors(), for collectives: by operation."""
    found: dict[str, list[float]] = defaultdict(list)
    left: Counter[str] = Counter()
    for row in rows:
        modelled = collective_us(row)
        if modelled is None:
            left[row["op"]] += 1
        else:
            found[row["op"]].append(modelled / float(row["latency_us"]) - 1)
    return dict(found), left


def summary(found: Mapping[str, list[float]]) -> dict[str, dict[str, float]]:
    """Per family: rows, median and mean of |error|, and the median of the signed error."""
    return {
        family: {
            "rows": len(values),
            "median": statistics.median(map(abs, values)),
            "mean": statistics.fmean(map(abs, values)),
            "bias": statistics.median(values),
        }
        for family, values in sorted(found.items())
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Error of the cost model against measured kernels.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--json", action="store_true", help="print figures for scripts")
    options = parser.parse_args()
    with options.file.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        found, left = (collective_errors if "message_bytes" in (reader.fieldnames or ()) else errors)(reader)
    figures = summary(found)
    if options.json:
        print(json.dumps({"schema": 1, "families": figures, "unmapped": dict(left)}, indent=1))
        return 0
    print(f"{'family':<20}{'rows':>6}{'median':>9}{'mean':>9}{'bias':>9}")
    for family, f in figures.items():
        print(f"{family:<20}{f['rows']:>6.0f}{f['median']:>9.1%}{f['mean']:>9.1%}{f['bias']:>+9.1%}")
    print(f"{sum(left.values())} rows of {len(left)} operators not mapped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
