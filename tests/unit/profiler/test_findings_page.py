"""The page of findings is what its generator makes of the rules today, and every text belongs to a rule."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import profiler.analysis
from profiler import texts
from profiler.analysis.ranks.joint import JOINT
from profiler.analysis.rules import RULES

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_findings", DOCS / "make_findings.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(generator: ModuleType) -> None:
    assert (DOCS / "findings.md").read_text(encoding="utf-8") == generator.page(), "run: python docs/make_findings.py"


def test_every_check_of_other_tools_has_its_counterpart_or_a_reason(generator: ModuleType) -> None:
    """Counts: advisor 26.2.0 has 24 checks besides comparison in its table, AI core performance is three, stage_compute is
    added for pipelines; HolisticTraceAnalysis lists 11 features, nsys analyze has 7 rules."""
    rows = generator.counterparts()
    assert Counter(c.tool for c in rows) == {
        "msprof-analyze advisor": 27,
        "HolisticTraceAnalysis": 11,
        "Nsight Systems expert system": 7,
    }
    assert len({(c.tool, c.check) for c in rows}) == len(rows)
    analysis = Path(profiler.analysis.__file__).parent
    known = {id for rule in (*RULES, *JOINT) for id in (rule.id, *rule.also)}
    views = {p.stem for folder in (analysis, analysis / "views") for p in folder.glob("*.py")}
    for c in rows:
        assert set(c.ours) <= known, c
        assert set(c.views) <= views, c
        assert c.asks and (c.ours or c.views or c.why), c


def test_every_text_belongs_to_a_rule_and_speaks_of_the_same_facts_in_both_languages() -> None:
    known = {id for rule in (*RULES, *JOINT) for id in (rule.id, *rule.also)}
    for lang in texts.LANGUAGES:
        said = texts.table(lang)["finding"]
        assert set(said) == known
        for entry in said.values():  # a case of a finding may have a claim and an advice of its own
            assert {part.partition("_")[0] for part in entry} == {"title", "claim", "advice", "why"} <= set(entry)
    english, chinese = (texts.table(lang)["finding"] for lang in texts.LANGUAGES)
    for id in known:
        assert set(english[id]) == set(chinese[id])
        for part in english[id]:
            assert set(re.findall(r"{(\w+)}", english[id][part])) == set(re.findall(r"{(\w+)}", chinese[id][part])), (id, part)


def test_every_rule_says_when_it_fires() -> None:
    for rule in (*RULES, *JOINT):
        assert rule.run.__doc__ and "Fires" in rule.run.__doc__, rule.id
