"""`npu-diag error` beyond public numbers: error-manager codes, inner and device numbers, HCCL, DCMI, and pasted messages."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diag import code_tables
from diag.codes_in_text import codes_in
from diag.error_answer import Answer, Entry, answer
from diag.error_code import Explanation, NotFound
from diag.log_report import LogReport
from npu import errors


def entry(text: str) -> Entry:
    found = answer(text)
    assert isinstance(found, Entry), found
    return found


def message(text: str) -> LogReport:
    found = answer(text)
    assert isinstance(found, LogReport), found
    return found


@pytest.mark.parametrize(("text", "form", "code", "public"), [
    ("EI0006", "family", "EI0006", ""),
    ("ei0006.", "family", "EI0006", ""),
    ("EE9999", "family", "EE9999", ""),
    ("EH9999", "family", "EH9999", ""),
    ("E10016", "family", "E10016", ""),
    ("W40010", "family", "W40010", ""),
    ("ERR00100", "family", "ERR00100", ""),
    ("0x7020023", "inner", "0x07020023", "207005"),
    ("InnerCode=0x07020023", "inner", "0x07020023", "207005"),
    ("117571619", "inner", "0x07020023", "207005"),  # 0x07020023 in decimal
    ("retCode=0x7020014", "inner", "0x07020014", ""),
    ("0x26", "retcode", "0x26", "507015"),
    ("retCode=0x2A", "retcode", "0x2a", "507018"),
    ("0x91", "retcode", "0x91", "507011"),
    ("9", "hccl", "9", ""),
    ("hcclRet -> 19", "hccl", "19", ""),
    ("HCCL_E_TIMEOUT", "hccl", "9", ""),
    ("errNo[0x0000000005010009]", "hccl", "9", ""),
    ("0x0000000005000007", "hccl", "7", ""),
    ("errNo[0x0000000000000003]", "hccl", "3", ""),
    ("-8020", "dcmi", "-8020", ""),
    ("ret is -8005", "dcmi", "-8005", ""),
    ("-9020", "dcmi", "-8020", ""),
])  # fmt: skip
def test_codes_of_other_tables(text: str, form: str, code: str, public: str) -> None:
    found = entry(text)
    assert (found.form, found.code, found.public) == (form, code, public)
    assert found.meaning["en"] and found.meaning["zh"]


@pytest.mark.parametrize("code", [c for c, f in code_tables.families().items() if not f.is_group])
def test_every_family_code_is_answered_in_both_languages(code: str) -> None:
    found = entry(code)
    assert found.do or code.startswith("W") or not code_tables.families()[code].action["en"], code
    assert set(found.do) in ({"en", "zh"}, set())


def test_public_numbers_stay_what_they_were() -> None:
    found = answer("507018")
    assert isinstance(found, Explanation) and found.code == 507018
    assert all(isinstance(answer(str(c.code)), Explanation) for c in errors.codes())


def test_steps_of_a_code_are_those_of_the_log_rules() -> None:
    assert "Free the port" not in str(entry("EI0006").do)
    assert any("reports nothing or failed earlier" in step for step in entry("EI0006").do["en"])
    assert any("npu-smi" in step for step in entry("-8005").do["en"])


@pytest.mark.parametrize(("text", "cause"), [
    ("RuntimeError: ACL stream synchronize failed, error code:507018", "aicpu_exception"),
    ("ImportError: libascend_hal.so: cannot open shared object file: No such file or directory", "driver_library_missing"),
    ("dcmi model initialized failed, because the device is used. ret is -8020", "device_busy"),
    ("aclrtSetDevice failed, error code 507018 (public header: 107001), cause no_driver: No usable Ascend driver.", "no_driver"),
])  # fmt: skip
def test_pasted_messages(text: str, cause: str) -> None:
    found = message(text).cause
    assert found is not None and found.cause == cause


@pytest.mark.parametrize("text", ["runtime api version: 11.2", "Driver API Version: 11.2, Runtime API Version: 10.1"])
def test_a_cuda_line_is_no_cann_version(text: str) -> None:
    report = message(text)
    assert report.cause is None
    assert [f.cause for f in report.notes] == ["cuda_library_missing"]


def test_a_code_inside_words_that_no_rule_knows() -> None:
    found = answer("my program printed 507899 and ended")
    assert isinstance(found, Explanation) and found.code == 507899


@pytest.mark.parametrize("text", ["", "hello", "E1x016", "99", "0x7ffffff", "-8999", "abc 12"])
def test_what_nobody_knows(text: str) -> None:
    assert isinstance(answer(text), NotFound)


@pytest.mark.parametrize(("text", "codes"), [
    ("runtime result = 507018.", ["507018"]),
    ("fail, ret: 0x7BC80[FUNC:Check]", ["507008"]),
    ("ErrCode=207005, desc=[driver error:resource alloc fail], InnerCode=0x7020023", ["207005", "0x7020023"]),
    ("pid=107001, size 100000, stream_id=507018", []),
    ("at 2025-10-07-10:00:00 error 100003-5", []),
    ("HCCL function error: f(a, b), error code is 9", ["9"]),
    ("EE9999: Inner Error!", ["EE9999"]),
])  # fmt: skip
def test_only_results_are_codes(text: str, codes: list[str]) -> None:
    assert [c.code for c in codes_in(text)] == codes


@settings(deadline=None, max_examples=40)
@given(st.text(max_size=80))
def test_any_text_gets_an_answer(text: str) -> None:
    found: Answer = answer(text)
    assert isinstance(found, Explanation | Entry | LogReport | NotFound)
