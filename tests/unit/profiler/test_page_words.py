"""The page's words: every key the page or Python asks for exists in both languages, and none is left over."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from npu import events
from profiler.report import charts
from profiler.report.words import say, words

REPORT = Path(charts.__file__).parent
SOURCES = "\n".join(
    p.read_text() for p in sorted([*REPORT.glob("*.py"), *REPORT.glob("assets/*.js"), *REPORT.glob("assets/*.html")])
)
# say(`part.${key}`) and say(f"copy.{way}"): the part before the place; plural(n, "step"): step.one and step.many
STEMS = set(re.findall(r"[`\"']([a-z.]+\.)\$?\{", SOURCES)) | {f"{k}." for k in re.findall(r'plural\([^"]*"([a-z.]+)"', SOURCES)}


def test_every_key_that_is_asked_for_has_a_text() -> None:
    asked = set(re.findall(r'\bsay\("([a-z][a-z0-9_.]*)"', SOURCES)) | set(
        re.findall(r'data-(?:say|hint|label)="([^"]+)"', SOURCES)
    )
    assert len(asked) > 80 and asked - words("en").keys() == set()
    assert [stem for stem in STEMS if not any(key.startswith(stem) for key in words("en"))] == []


def test_every_text_is_asked_for() -> None:
    left = {key for key in words("en") if f'"{key}"' not in SOURCES and f"'{key}'" not in SOURCES}
    assert {key for key in left if not key.startswith(tuple(STEMS))} == set()


def test_both_languages_have_the_same_places_to_fill() -> None:
    english, chinese = words("en"), words("zh")
    for key, text in english.items():
        places = re.findall(r"\{\w+\}", text)
        assert chinese[key] and sorted(places) == sorted(re.findall(r"\{\w+\}", chinese[key])), key


def test_every_direction_and_its_lane_has_a_name() -> None:
    assert [say(f"copy.{d}") for d in events.DIRECTIONS] == [
        "copy host to host", "copy host to device", "copy device to host", "copy on the device"]  # fmt: skip
    assert say("lane.h2d", "zh") == "H2D 拷贝"


def test_a_language_without_a_column_is_an_error() -> None:
    with pytest.raises(KeyError):
        words("fr")
