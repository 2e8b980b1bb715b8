"""The cost model on kernels of real profiles: their order by time may get better, not worse."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import profiler
from npu import soc
from profiler.analysis.kernel_model import Kind
from tests.bench_script import bench_script

ROOT = Path(__file__).resolve().parents[3]
BENCH = ROOT / "bench/profiled.py"
KNOWN_STEP = ROOT / "tests/data/known_step/rank0_ascend_pt"
# profile, chip, least rank correlation, kinds of kernels it is of
PROFILES = (
    (KNOWN_STEP, "Ascend910B2", 0.954, 131),
    (ROOT / "tests/data/training_kernels", "Ascend910B4", 0.958, 108),
)


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    return bench_script("profiled")


@pytest.mark.parametrize(("path", "chip", "least", "kernels"), PROFILES, ids=lambda v: v.name if isinstance(v, Path) else None)
def test_kernels_stand_in_the_right_order(bench, path, chip, least, kernels):
    found, _ = bench.measured(profiler.open(path), soc.find(chip))
    assert len(found) == kernels
    assert bench.rank_correlation([m.modelled for m in found], [m.us for m in found]) >= least


def test_rank_correlation_by_hand(bench):
    """Ranks 1 2 3 4 against 1 3 2 4: 1 - 6 * 2 / (4 * 15) = 0.8. Ties share a rank: 1 2.5 2.5 against 1 2 3 is 0.866."""
    assert bench.rank_correlation([10, 20, 30, 40], [1, 3, 2, 9]) == pytest.approx(0.8)
    assert bench.rank_correlation([1, 5, 5], [1, 2, 3]) == pytest.approx(0.75**0.5)
    assert bench.rank_correlation([1, 2, 3], [9, 8, 7]) == pytest.approx(-1)


def kind(op: str, inputs: str, types: str, outputs: str, out_types: str) -> Kind:
    return Kind(op, inputs, types, "", outputs, out_types, "")


def test_layout_changes_move_planes(bench):
    """A filter's planes are its 9 taps, 36 bytes each; an image's 55 x 55 values, 12,100 bytes."""
    filters = bench.work(kind("TransData", "256,384,3,3", "FLOAT", "432,16,16,8", "FLOAT"))
    assert filters.dims == (256 * 384 * 9, 256 * 384)
    images = bench.work(kind("TransData", "32,64,55,55", "FLOAT", "32,8,55,55,8", "FLOAT"))
    assert images.dims == (32 * 64 * 55 * 55, 32 * 64)


def test_what_is_picked_is_what_is_written(bench):
    """Of a table of 311 MB 4096 rows of 2 kB are read."""
    made = bench.work(kind("GatherV2", "151936,1024;1,4096;1", "DT_BF16;INT64;INT64", "1,4096,1024", "DT_BF16"))
    assert made.read_bytes == made.write_bytes == 4096 * 1024 * 2


def test_gradients_of_a_convolution_are_its_products(bench):
    """32 images of 13 x 13, 256 channels to 256, 3 x 3: what the forward pass multiplies."""
    data = bench.work(kind("Conv2DBackpropInput", "4;288,16,16,8;32,32,13,13,8", "INT32;FLOAT;FLOAT", "32,32,13,13,8", "FLOAT"))
    weights = bench.work(kind("Conv2DBackpropFilter", "32,32,13,13,8;4;32,32,13,13,8", "FLOAT;INT32;FLOAT", "288,16,16,8", "FLOAT"))
    assert data.dims == weights.dims == (32, 13, 13, 256, 256, 9, 1, 1)


def test_pooling_looks_at_all_windows(bench):
    """9 values for each of 32 x 12 x 13 x 13 x 16 results, in 32 x 12 planes; its gradient the same."""
    image, small, mask = "32,12,27,27,16", "32,12,13,13,16", "32,12,9,12,16"
    forward = bench.work(kind("MaxPoolWithArgmaxV1", image, "FLOAT", f"{small};{mask}", "FLOAT;UINT16"))
    backward = bench.work(kind("MaxPoolGradWithArgmaxV1", f"{image};{small};{mask}", "FLOAT;FLOAT;UINT16", image, "FLOAT"))
    assert forward.dims == backward.dims == (9 * 32 * 12 * 13 * 13 * 16, 32 * 12)


def test_attention_is_told_by_its_statistics(bench):
    made = bench.work(
        kind(
            "FlashAttentionScore",
            "4096,1,2048;4096,1,1024;4096,1,1024",
            "DT_BF16;DT_BF16;DT_BF16",
            "1,16,4096,8;1,16,4096,8;;4096,1,2048",
            "FLOAT;FLOAT;;DT_BF16",
        )
    )
    assert made.dims == (1, 16, 4096, 4096, 128)


def test_what_has_no_shapes_has_no_work(bench):
    assert bench.work(kind("MemSet", "", "", "", "")) is None


def test_the_command_names_the_worst():
    made = subprocess.run([sys.executable, BENCH, KNOWN_STEP, "--worst", "2"], capture_output=True, text=True, check=True).stdout
    head, left, _, *worst = made.splitlines()
    assert head.startswith("Ascend910B2: 131 kinds of kernels, rank correlation 0.9")
    assert "MemSet" in left
    assert len(worst) == 2
    bare = ROOT / "tests/data/real/level0_step/rank0_ascend_pt"
    silent = subprocess.run([sys.executable, BENCH, bare], capture_output=True, text=True)
    assert silent.returncode == 1
    assert "Level1" in silent.stdout
