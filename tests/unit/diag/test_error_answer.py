"""`npu-diag error` beyond public numbers: error-manager codes, inner and device numbers, HCCL, DCMI, and pasted messages."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diag import code_tables
from diag.codes_in_text import codes_in
from diag.error_answer import Answer, answer
from diag.error_code import Explanation, NotFound
from diag.error_entry import Entry, of_other
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
    ("hccl interface retcode: 7", "hccl", "7", ""),
    ("retcode: 7", "hccl", "7", ""),
    ("drvRetCode=17", "drv", "17", "507899"),
    ("drv_ret_code=33", "drv", "33", "507010"),
    ("DRV_ERROR_NO_DEVICE", "drv", "1", ""),
    ("0x80e01801", "fault", "0x80E01801", ""),
    ("80E01801", "fault", "0x80E01801", ""),
    ("Error Code : 81078603", "fault", "0x81078603", ""),
    ("1343225860", "ge", "1343225860", ""),
    ("ErrorNo: 4294967295(failed)", "ge", "4294967295", ""),
    ("errno 98", "errno", "98", ""),
    ("signal 9", "signal", "9", ""),
    ("exit code 137", "signal", "9", ""),  # 128 + 9
    ("exitcode -11", "signal", "11", ""),
    ("-9", "signal", "9", ""),
    ("139", "signal", "11", ""),
    ("E1xxxx", "family", "E1xxxx", ""),
    ("EI", "family", "EIxxxx", ""),
    ("PTA call acl api failed", "torch", "ERR00100", ""),
    ("DIST call hccl api failed.", "torch", "ERR02200", ""),
    ("OPS internal error", "torch", "ERR01005", ""),
    ("EI0006 什么意思？", "family", "EI0006", ""),
    ("aicore error code 0x10", "core", "0x10", ""),
    ("core id is 20, error code = 0x4000000000000000, dump info: pc start: 0x12", "core", "0x4000000000000000", ""),
])  # fmt: skip
def test_codes_of_other_tables(text: str, form: str, code: str, public: str) -> None:
    found = entry(text)
    assert (found.form, found.code, found.public) == (form, code, public)
    assert found.meaning["en"] and found.meaning["zh"]


@pytest.mark.slow
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


@pytest.mark.parametrize("text", ["error code 507018", "runtime result = 507018", "ret=507018", "错误码：507018", "返回值 507018",
                                  "error code is ACL_ERROR_RT_AICPU_EXCEPTION", "errorCode = 0x7bc8a"])  # fmt: skip
def test_a_code_behind_a_word_that_only_says_so_is_answered_as_the_code(text: str) -> None:
    assert answer(text) == answer("507018")


def test_bits_of_a_core_are_counted_from_zero_and_named_where_known() -> None:
    assert entry("aicore error code 0x30").meaning == {"en": "error code 0x30, bits 4, 5", "zh": "错误码 0x30，第 4, 5 位"}
    assert entry("aivec error code = 0x10").meaning["en"] == "error code 0x10, bit 4"
    assert "outside device memory" in entry("error code = 0x800000").meaning["en"]
    assert isinstance(answer("error code 0x10"), NotFound)  # nothing says that it is of a core


@pytest.mark.parametrize("code", ["EH9999", "EE8888", "E19999", "EZ9999"])
def test_a_catch_all_names_its_component_and_the_next_step(code: str) -> None:
    found = entry(code)
    assert "family" not in found.meaning["en"] and found.do["en"] and found.do["zh"]


@pytest.mark.parametrize("form", ["drv", "fault", "ge", "errno", "signal"])
def test_codes_around_cann_have_both_languages_and_steps(form: str) -> None:
    for other in code_tables.others().values():
        if other.form == form:
            found = of_other(other)
            assert found.meaning["en"] and found.meaning["zh"]
            assert other.code == "2" or (found.do["en"] and len(found.do["en"]) == len(found.do["zh"]))
