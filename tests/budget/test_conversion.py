"""Conversion costs less than three session builds of onnxruntime, or 150 ms: CPU time of one process, imports left out."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.bench_script import bench_script

BENCH = Path(__file__).parents[2] / "bench" / "fusion.py"
TIMES, FLOOR = 3.0, 0.15  # s
ATTEMPTS = 5  # a neighbour on the machine can spoil caches of any one


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    return bench_script("fusion")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["force_fp16", "must_keep_origin_dtype"])
@pytest.mark.parametrize("name", ["resnet50", "densenet121"])
def test_a_network(bench: ModuleType, name: str, mode: str, tmp_path: Path) -> None:
    model = tmp_path / f"{name}.onnx"
    model.write_bytes(bench.network(name).SerializeToString())
    seen = []
    for _ in range(ATTEMPTS):
        ours, theirs = bench.costs(model, precision_mode=mode)
        seen.append((ours, theirs))
        if ours <= max(TIMES * theirs, FLOOR):
            return
    pytest.fail(f"(conversion, session build) in CPU seconds: {seen}")


@pytest.mark.slow
def test_the_table_of_the_page_is_what_the_bench_gives(bench: ModuleType, tmp_path: Path) -> None:
    model, off = tmp_path / "resnet50.onnx", tmp_path / "off"
    model.write_bytes(bench.network("resnet50").SerializeToString())
    off.write_text("ALL:off\n")
    page = (BENCH.parents[1] / "docs" / "atc.md").read_text(encoding="utf-8")
    unfused, fused = bench.figures(model, fusion_switch_file=str(off)), bench.figures(model)
    for title, found in (("resnet50, fusion off", unfused), ("resnet50, fused", fused)):
        assert bench.row(title, found._asdict()) in page, "run python bench/fusion.py resnet50, and put its rows into docs/atc.md"
    assert fused.kernels < unfused.kernels / 2 and fused.duration < 0.7 * unfused.duration
