"""Make docs/example.html again: the report page of the quickstart's first version, recorded under the model clock.

usage: python docs/make_example.py

Everything runs in a folder of its own, and call sites are made relative to it: the page names no place of the machine that
made it.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
PAGE = ROOT / "docs" / "example.html"
IMAGES = "32"
MOST = 6_000_000  # bytes of the page that goes into the repository


def call(folder: Path, *words: str) -> None:
    """Run a command in the folder, in English; a failure ends the script with what it said."""
    env = {**os.environ, "LC_ALL": "C.UTF-8", "NPU_STATE_DIR": str(folder / "state")}
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"make_example: {' '.join(words)} failed ({done.returncode})\n{done.stdout}{done.stderr}")


def make_relative(strings: Path, folder: Path) -> None:
    """Take the folder out of the texts of a capture (records of uint32 length and UTF-8); their ids stay."""
    data, made, at = strings.read_bytes(), [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        text = data[at + 4 : at + 4 + length].replace(f"{folder}/".encode(), b"")
        made.append(struct.pack("<I", len(text)) + text)
        at += 4 + length
    strings.write_bytes(b"".join(made))


def main() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("main.py", "fixed.py", "demo.py", "lines.py", "network.py"):
            shutil.copy(ROOT / "samples" / "quickstart" / part, folder)
        call(folder, sys.executable, "demo.py", "--images", IMAGES, "--out", "demo")  # converts the network without fusion
        call(
            folder,
            str(BIN / "msprof"),
            "run",
            "--clock",
            "model",
            "--no-summary",
            "--output",
            "example",
            "main.py",
            "demo/unfused.om",
            IMAGES,
            "demo/answers.npy",
        )
        (prof,) = (folder / "example").glob("PROF_*")
        make_relative(prof / "npuscope" / "strings.bin", folder)
        prof.rename(folder / "quickstart")
        call(folder, str(BIN / "msprof"), "report", "quickstart", "-o", "example.html", "--force")
        text = (folder / "example.html").read_text(encoding="utf-8")
        named = [word for word in (str(folder), str(ROOT), f'"{os.uname().nodename}"') if word in text]
        if named or len(text) > MOST:
            raise SystemExit(f"make_example: the page is {len(text)} bytes and names {named or 'no place of this machine'}")
        PAGE.write_text(text, encoding="utf-8")
    print(f"written: {PAGE.relative_to(ROOT)} ({PAGE.stat().st_size} bytes)")


if __name__ == "__main__":
    main()
