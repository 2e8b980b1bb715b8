"""The tables of causes: complete in both languages, no code or fact that does not exist, every refusal of ours leads back."""

from __future__ import annotations

import re
import string

import pytest

from diag import code_tables
from diag.log_report import read_text
from diag.log_rules import Cause, by_code, by_family, by_situation, causes, collecting, generic
from diag.log_text import said
from npu import errors
from npu.runtime.messages import message

NEWER = {"EC0010", "EI0018", "EI0019", "EI0020"}  # met in the field, not in the table of codes
ALL = {**causes(), **generic()}
# Facts that arithmetic adds (diag/log_facts.py) or the simulated stack's sentence tells.
ADDED = {"others", "slack", "bits", "pc_offset", "last", "low", "inner_meaning", "name", "situation", "device_id", "acl_code",
         "timeout_s"}  # fmt: skip


def facts_of(cause: Cause) -> set[str]:
    same_event = [c for c in causes().values() if c.group == cause.group]
    return ADDED | {name for c in same_event for p in (*c.patterns, *c.details) for name in p.groupindex}


def test_there_are_causes_for_every_kind() -> None:
    assert {c.kind for c in causes().values()} == {"cause", "symptom", "after", "harmless"}
    assert not set(causes()) & set(generic())


@pytest.mark.parametrize("cause", ALL.values(), ids=lambda c: c.id)
def test_both_languages_say_the_same(cause: Cause) -> None:
    assert set(cause.title) == set(cause.meaning) == set(cause.do) == {"en", "zh"}
    for texts in (cause.meaning, cause.do):
        assert [len(place) for place in texts["en"]] == [len(place) for place in texts["zh"]] != []
        for english, chinese in zip(texts["en"], texts["zh"], strict=True):
            assert [wanted(t) for t in english] == [wanted(t) for t in chinese]
            assert all(re.search(r"[\u4e00-\u9fff]|^\{\w+\}。$", t) for t in chinese)
    assert set(cause.collect) <= set(collecting())


def wanted(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("cause", causes().values(), ids=lambda c: c.id)
def test_texts_only_name_facts_some_line_can_tell(cause: Cause) -> None:
    texts = [t for part in (*cause.meaning.values(), *cause.do.values(), cause.commands) for place in part for t in place]
    known = facts_of(cause) | (
        {"allocate", "total", "allocated", "free", "reserved"} if cause.id.startswith("memory_") else set()
    )
    for text in (*cause.title.values(), *texts):
        assert wanted(text) <= known, text


def test_codes_and_families_exist() -> None:
    numbers = {c.code for c in errors.codes()}
    assert set(by_code()) <= numbers
    for code in by_family():
        assert code in code_tables.families() or code.endswith("9999") or code in NEWER, code


def test_each_code_and_family_speaks_for_one_cause() -> None:
    codes = [code for c in causes().values() for code in c.codes if c.id != "internal_failure"]
    families = [code for c in causes().values() for code in c.families]
    assert sorted({c for c in codes if codes.count(c) > 1}) == []
    assert sorted({f for f in families if families.count(f) > 1}) == []


SITUATIONS = sorted({*errors.SITUATIONS, *errors.DIFFERING})


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("table", ["article", "header"])
def test_every_refusal_of_the_simulated_stack_leads_back(situation: str, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPU_ERROR_TABLE", table)
    error = errors.NpuError(situation, device=0, count=8, size=1 << 20, pointer=4096, bytes=10, allocated=5)
    report = read_text(f"{message('acl.rt.something', error)}\nfailed, ret = {error.code}\n")
    assert report.cause is not None
    assert report.cause.cause == by_situation().get(situation, "refused")
    texts = said(report.cause)
    assert message("", error).partition(f"cause {situation}: ")[2] in texts.meaning  # its own sentence
    (seen,) = (s for s in report.codes if s.code.form == "acl")
    assert seen.code.name == situation  # not what the number means elsewhere


def test_a_missing_driver_is_never_called_an_ai_cpu_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPU_ERROR_TABLE", "article")
    error = errors.NpuError("no_driver", device=0, reason="no driver")
    assert error.code == 507018
    report = read_text(f"{message('acl.rt.set_device', error)}\nset_device failed, ret = 507018\n")
    assert report.cause is not None and report.cause.cause == "no_driver"
    everything = [said(f, lang) for f in (report.cause, *report.consequences) for lang in ("en", "zh")]
    assert "AI CPU" not in str(everything) + str([s.code for s in report.codes])


def test_the_situations_people_meet_have_a_cause_of_their_own() -> None:
    assert {"no_driver", "no_memory", "not_device_memory", "model_input_mismatch", "model_too_new"} <= set(by_situation())


def test_the_result_inside_an_errno_of_hccl_is_named() -> None:
    """0x05 is HCCL, 0x01 its part hcom, 0x0009 the result; another module's number stays undecoded."""
    text = "[ERROR] HCCL(1,python3):2026-03-18-10:34:43.142.156 [hcom.cc:515] [1][AllReduce][Result]errNo[0x{}] error\n"
    known, other = (read_text(text.format(number), "message") for number in ("0000000005010009", "0000000006010009"))
    assert known.cause is not None and known.cause.facts["hccl_code"] == "9 (HCCL_E_TIMEOUT)"
    assert [seen.code.name for seen in known.codes] == ["HCCL_E_TIMEOUT"]
    assert other.cause is not None and other.cause.cause == "unknown_error" and not other.codes
