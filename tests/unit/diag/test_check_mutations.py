"""Cut, doubled and damaged evidence is read as far as it goes: never an error of ours."""

import random
import shutil
from pathlib import Path

import pytest

from diag.check import check
from diag.evidence import texts
from diag.evidence.gather import of_paths, resolved
from diag.report import lines, to_json
from diag.seen import together

DATA = Path(__file__).parents[2] / "data"
SEEDS = [p.read_bytes() for p in sorted((DATA / "host-texts").glob("*.txt")) + sorted((DATA / "npu-smi").glob("*.txt"))]
SEEDS += [p.read_bytes() for p in sorted((DATA / "install-trees").glob("*/env.txt"))]
TREES = sorted((DATA / "install-trees").iterdir())
PIECES = (
    b"=",
    b",",
    b"\n",
    b"$ ",
    b"[",
    b"]",
    b":",
    b"\x00",
    b"\xff",
    b"-1",
    b"99999999999999999999",
    b"{",
    b"}",
    b"\xe2\x80\xa8",
    b"%",
    b"| ",
)


def mutated(data, rng):
    made = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(made) + 1)
        kind = rng.randrange(4)
        if kind == 0:
            made[at:at] = rng.choice(PIECES)
        elif kind == 1:
            del made[at : at + rng.randint(1, 40)]
        elif kind == 2:
            made = made[:at]
        else:
            made[at:at] = made[max(0, at - 60) : at]
    return bytes(made)


def judge(seen):
    checked = check(resolved(seen))
    for lang in ("en", "zh"):
        assert lines(checked, lang, verbose=True)
        to_json(checked, lang)


def some_texts(count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        text = mutated(rng.choice(SEEDS), rng).decode("utf-8", "replace")
        judge(together(texts.read(text), "text"))


def some_trees(count, seed, folder):
    rng = random.Random(seed)
    for number in range(count):
        tree = folder / str(number)
        shutil.copytree(rng.choice(TREES), tree)
        files = [p for p in tree.rglob("*") if p.is_file()]
        for path in rng.sample(files, 12):
            path.write_bytes(mutated(path.read_bytes(), rng))
        judge(of_paths([tree]))
        shutil.rmtree(tree)


def test_damaged_texts():
    some_texts(1200, 1)


def test_damaged_trees(tmp_path):
    some_trees(60, 2, tmp_path)


@pytest.mark.slow
def test_many_damaged_texts_and_trees(tmp_path):
    some_texts(6000, 3)
    some_trees(400, 4, tmp_path)
