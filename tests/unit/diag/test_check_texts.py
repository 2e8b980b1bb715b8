"""Every verdict has its texts in both languages, with the same facts and as many steps."""

import ast
import string
from pathlib import Path

import diag.checks
from diag.verdict import texts

SOURCES = sorted(Path(diag.checks.__file__).parent.glob("*.py"))


def fields(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def used():
    """String constants of the checks that are keys of the texts, and first arguments of Verdict."""
    constants, named = set(), set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                constants.add(node.value)
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", "") == "Verdict"
                and isinstance(node.args[0], ast.Constant)
            ):
                named.add(node.args[0].value)
    return constants, named


def test_both_languages_have_the_same_verdicts_facts_and_steps():
    english, chinese = texts("en"), texts("zh")
    assert english.keys() == chinese.keys()
    assert english["words"].keys() == chinese["words"].keys()
    for name in english.keys() - {"words"}:
        one, other = english[name], chinese[name]
        assert fields(one["say"]) == fields(other["say"]), name
        assert [fields(s) for s in one.get("do", [])] == [fields(s) for s in other.get("do", [])], name
        assert any("\u4e00" <= c <= "\u9fff" for c in other["say"]), name


def test_every_verdict_has_a_text_and_every_text_a_verdict():
    constants, named = used()
    assert named <= texts("en").keys()
    assert texts("en").keys() - {"words"} <= constants
