"""Help in the reader's language: what --lang and LANG choose, and that nothing of the daily commands was left untranslated."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cli import help_texts, msprof, npuscope
from cli.lazy import StandIn
from cli.terminal import Language

DAILY = ("run", "analyze", "report", "timeline", "export")


def texts_of(module: object) -> Iterator[str]:
    """Every help text a reader of `--help` and of the verbs' own help meets."""
    yield str(vars(module)["HELP"])
    yield from (what for _, what in vars(module)["EXAMPLES"])
    for name, verb in vars(module)["VERBS"].items():
        if name in DAILY:
            command = StandIn(name, verb, []).real()
            yield from (verb.help, verb.group, command.help or "")
            yield from (getattr(p, "help", None) or "" for p in command.params)


@pytest.mark.parametrize("module", [msprof, npuscope], ids=["msprof", "npuscope"])
def test_every_help_text_has_a_translation(module: object) -> None:
    known = help_texts.translations()
    missing = {" ".join(text.split()) for text in texts_of(module)} - known.keys() - {""}
    assert not missing, "add lines to cli/texts/help.csv"


def test_translations_are_not_the_english_text() -> None:
    for english, chinese in help_texts.translations().items():
        assert chinese and any("\u4e00" <= c <= "\u9fff" for c in chinese), english


@pytest.mark.parametrize(("arguments", "environment", "expected"), [
    (["analyze", "--help", "--lang", "zh"], "C", Language.zh),
    (["analyze", "--lang=zh", "-h"], "C", Language.zh),
    (["--help"], "zh_CN.UTF-8", Language.zh),
    (["--help", "--lang", "en"], "zh_CN.UTF-8", Language.en),
    (["run", "script.py", "--lang", "zh"], "C", Language.en),  # the script's own option
    (["--help", "--lang"], "C", Language.en),
])  # fmt: skip
def test_the_language_of_help(
    arguments: list[str], environment: str, expected: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", environment)
    assert help_texts.help_language(arguments) is expected


def test_a_text_nobody_translated_stays_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    monkeypatch.setattr("sys.argv", ["msprof"])
    assert help_texts.said("no such text") == "no such text"
    assert help_texts.said("File to\n  write.") == "输出文件。"
