"""Whole log folders with what must be said of them; and that no cut or damaged log ever ends in an error of ours."""

from __future__ import annotations

import json
import random
import shutil
import time
from pathlib import Path

import pytest

from diag.log_json import to_json
from diag.log_report import LogReport, read, read_text
from diag.log_text import said
from tests.unit.diag.log_messages import MESSAGES

SAMPLES = Path(__file__).parents[2] / "data/plog"
NAMES = sorted(p.name for p in SAMPLES.iterdir() if p.is_dir())
SEARCH = 2.0  # s of seeded damage in the default run


def expected(name: str) -> dict:
    return json.loads((SAMPLES / name / "expected.json").read_text())


def sample(name: str, tmp_path: Path) -> LogReport:
    folder = tmp_path / name
    shutil.copytree(SAMPLES / name, folder, ignore=shutil.ignore_patterns("expected.json"))
    return read([folder])


def everything_said(report: LogReport, language: str = "en") -> str:
    return json.dumps(to_json(report, language), ensure_ascii=False)


@pytest.mark.parametrize("name", NAMES)
def test_root(name: str, tmp_path: Path) -> None:
    report, root = sample(name, tmp_path), expected(name)["root"]
    if root is None:
        assert report.cause is None
        return
    assert report.cause is not None
    line = report.cause.lines[0]
    assert (report.cause.cause, line.file, line.number) == (root["class"], root["file"], root["line"])
    told = dict(report.cause.facts) | {"module": line.module, "rank": line.rank}
    if "valid" in root:
        told["valid"] = [int(report.cause.facts["low"]), int(report.cause.facts["high"])]
    if "errcode_tuple" in root:
        told["errcode_tuple"] = report.cause.facts["errcode_tuple"].split(", ")
    for fact in set(root) - {"class", "file", "line", "acl_code"}:
        assert str(told[fact]) == str(root[fact]), fact


@pytest.mark.parametrize("name", NAMES)
def test_codes_and_who_returned_them(name: str, tmp_path: Path) -> None:
    report, want = sample(name, tmp_path), expected(name)
    codes = {s.code.code: s for s in report.codes}
    for key in ("acl_code", "em_code", "torch_npu_code", "hccl_ret"):
        assert key not in want or str(want[key]) in codes, key
    if "returned_by" in want:
        assert codes[str(want["acl_code"])].returned_by == want["returned_by"]
    if "final" in want:
        assert codes[str(want["final"]["acl_code"])].returned_by == want["final"]["api"]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", NAMES)
def test_what_must_not_be_said(name: str, language: str, tmp_path: Path) -> None:
    text = everything_said(sample(name, tmp_path), language).lower()
    assert [bad for bad in expected(name).get("must_not_say", []) if bad.lower() in text] == []


def test_the_rank_that_waited_is_a_consequence(tmp_path: Path) -> None:
    report, symptom = sample("03-hccl-ei0006", tmp_path), expected("03-hccl-ei0006")["symptom"]
    (found,) = (f for f in report.consequences if f.cause == "hccl_connect_timeout")
    assert (found.lines[0].file, found.lines[0].number, found.ranks) == (symptom["file"], symptom["line"], (symptom["rank"],))
    assert (found.facts["peer"], found.facts["timeout_s"]) == (str(symptom["peer_rank"]), str(symptom["timeout_s"]))
    assert report.waiting == {symptom["peer_rank"]: 1}
    assert report.cause is not None
    advice = " ".join(said(report.cause).do)
    assert "17007" in advice and "Raising HCCL_CONNECT_TIMEOUT does not help" in advice


def test_the_clean_one(tmp_path: Path) -> None:
    report, want = sample("06-clean-with-warnings", tmp_path), expected("06-clean-with-warnings")
    assert (report.counted.errors, report.counted.warnings) == (want["errors"], want["warnings"])
    assert report.facts == {name: str(value) for name, value in want["facts"].items()}
    assert [f.cause for f in report.notes] == ["watchdog_note"]
    assert "300 s" in said(report.notes[0]).title


def texts() -> list[str]:
    """Every sample as one text, and every message."""
    files = [sorted(p for p in (SAMPLES / name).rglob("*.log")) for name in NAMES]
    return ["".join(p.read_text() for p in group) for group in files] + [text for _, text in MESSAGES.values()]


def test_cut_after_every_line() -> None:
    for text in texts():
        lines = text.splitlines(keepends=True)
        for end in range(len(lines) + 1):
            everything_said(read_text("".join(lines[:end])))


def test_a_cut_sample_still_leads_to_its_event() -> None:
    """Without its first line, the exception is told by what is left of its details."""
    (name,) = (n for n in NAMES if n.startswith("01"))
    (path,) = (SAMPLES / name / "log/debug").rglob("*.log")
    report = read_text("".join(path.read_text().splitlines(keepends=True)[3:]))
    assert report.cause is not None and report.cause.cause == "aicore_exception"


def test_seeded_damage() -> None:
    damage(SEARCH, seed=1)


@pytest.mark.slow
def test_seeded_damage_for_longer() -> None:
    damage(60.0, seed=2)


@pytest.mark.parametrize(
    "start", [b"", b"\x1f\x8b", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"[\0E\0"]
)
def test_any_bytes_are_read_or_named_as_unread(start: bytes, tmp_path: Path) -> None:
    luck, path = random.Random(3), tmp_path / "a.log"
    for size in (0, 1, 3, 9, 100, 5000):
        path.write_bytes(start + luck.randbytes(size) + b"\n[ERROR] " + luck.randbytes(size))
        report = read([path])
        assert report.files == 1 or report.missing[0][0] == "a.log"
        everything_said(report)


def damage(seconds: float, seed: int) -> None:
    """Bytes replaced, lines lost, swapped, doubled and cut; the report must come and be complete in both languages."""
    luck, until, rounds, all_texts = random.Random(seed), time.monotonic() + seconds, 0, texts()
    while time.monotonic() < until or rounds < 20:
        text = luck.choice(all_texts)
        for _ in range(luck.randint(1, 4)):
            text = luck.choice(DAMAGES)(text, luck)
        for language in ("en", "zh"):
            everything_said(read_text(text), language)
        rounds += 1


def _bytes(text: str, luck: random.Random) -> str:
    raw = bytearray(text.encode())
    for _ in range(min(len(raw), luck.randint(1, 20))):
        raw[luck.randrange(len(raw))] = luck.randrange(256)
    return raw.decode("utf-8", "replace")


def _lines(text: str, luck: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(luck.choices(lines, k=luck.randint(0, 2 * len(lines)))) if lines else text


def _cut(text: str, luck: random.Random) -> str:
    return text[: luck.randint(0, len(text))]


def _numbers(text: str, luck: random.Random) -> str:
    return "".join(luck.choice("0123456789abcxf,]([ -") if c.isdigit() and luck.random() < 0.1 else c for c in text)


DAMAGES = (_bytes, _lines, _cut, _numbers)
