"""Looking up error codes: every form people paste, the order of what is said, and that no code is left without advice."""

from __future__ import annotations

import csv
import tomllib
from collections import Counter
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diag.error_code import ADVICE, Explanation, NotFound, explain
from npu import errors

NUMBERS = sorted({c.code for c in errors.codes()})
# Chosen because people meet them: they have advice of their own, not one text for a group.
OWN_ADVICE = [
    *(100000, 100001, 100002, 107000, 107001, 107002, 107003, 107017, 145000, 145002, 145003, 145006, 145013, 148049, 148052),
    *(161001, 161002, 207000, 207001, 207002, 207004, 207006, 207018, 361001, 500000, 500001, 500002, 500003, 507000, 507008),
    *(507011, 507015, 507017, 507018, 507033, 507035, 507046, 507047, 507899, 561000, 561001, 561002, 561003, 561103),
]


def entries() -> list[dict]:
    data = resources.files("diag").joinpath("data")
    texts = (data.joinpath(f"error_advice_{part}.toml").read_text(encoding="utf-8") for part in ADVICE)
    return [entry for text in texts for entry in tomllib.loads(text)["advice"]]


def known(text: str) -> Explanation:
    found = explain(text)
    assert isinstance(found, Explanation), found
    return found


@pytest.mark.parametrize("text", [
    "507018", " 507018 ", "507018.", "(507018)", "0x7bc8a", "0X7BC8A", "507018u", "-507018",
    "4294460278",  # 2**32 - 507018: the negative code seen as unsigned
    "0xFFF84376",  # the same, as a debugger prints it
    "ACL_ERROR_RT_AICPU_EXCEPTION", "acl_error_rt_aicpu_exception", "RT_AICPU_EXCEPTION", "aicpu_exception", "AICPU exception",
])  # fmt: skip
def test_one_code_in_many_spellings(text: str) -> None:
    assert known(text).code == 507018


def test_header_meaning_and_articles_reading_are_kept_apart() -> None:
    found = known("507018")
    assert found.meaning["en"] == "AI CPU task raised an exception"
    assert found.told["en"].startswith("If it came from aclrtSetDevice, check driver and firmware")
    assert found.told["zh"].startswith("若来自 aclrtSetDevice，检查驱动和固件")


@pytest.mark.parametrize("situation", errors.DIFFERING)
def test_both_codes_of_a_differing_situation_name_each_other(situation: str) -> None:
    article, header = errors.DIFFERING[situation]
    assert str(header) in known(str(article)).told["en"]
    if header != 507011:  # itself a code of the other table: its reading there is the memory one
        assert str(article) in known(str(header)).told["en"]


def test_several_names_of_one_number() -> None:
    assert known("0").names == ("ACL_ERROR_NONE", "ACL_RT_SUCCESS", "ACL_SUCCESS")
    assert known("0").meaning["en"] == "success"


def test_names_of_the_documentation_are_known_too() -> None:
    assert known("ACL_ERROR_RT_DEVIDE_OOM").code == 207018
    assert known("GE_DEVICE_MEMORY_ALLOCATION_FAILED").code == 245002


def test_a_name_without_module_means_the_plain_one_first() -> None:
    assert known("INVALID_PARAM").code == 100000
    assert known("PARAM_INVALID").code == 107000


def test_every_public_code_has_exactly_one_advice() -> None:
    counted = Counter(code for entry in entries() for code in entry["codes"])
    assert sorted(counted) == NUMBERS
    assert [code for code, times in counted.items() if times > 1] == []


@pytest.mark.parametrize("code", OWN_ADVICE)
def test_codes_people_meet_have_advice_of_their_own(code: int) -> None:
    assert [entry["codes"] for entry in entries() if code in entry["codes"]] == [[code]]


def test_both_languages_say_the_same_number_of_steps() -> None:
    for entry in entries():
        assert set(entry["cause"]) == {"en", "zh"} == set(entry["do"]), entry["codes"]
        assert len(entry["do"]["en"]) == len(entry["do"]["zh"]) > 0, entry["codes"]
        assert all(entry["cause"].values()) and all(step for steps in entry["do"].values() for step in steps), entry["codes"]
        assert set(entry.get("told", {"en", "zh"})) == {"en", "zh"}, entry["codes"]
        assert set(entry) <= {"codes", "told", "cause", "do", "commands"}, entry["codes"]


def test_codes_named_in_an_advice_exist() -> None:
    import re

    for entry in entries():
        texts = [*entry["cause"].values(), *entry.get("told", {}).values(), *(s for steps in entry["do"].values() for s in steps)]
        for number in re.findall(r"(?<![\d.x])[1-5]\d{5}(?!\d)", " ".join(texts)):
            assert int(number) in NUMBERS, (entry["codes"], number)


def test_every_meaning_is_translated() -> None:
    text = resources.files("diag").joinpath("data/error_meaning_zh.csv").read_text(encoding="utf-8")
    assert sorted(int(row["code"]) for row in csv.DictReader(text.splitlines())) == NUMBERS
    assert all(known(str(code)).meaning["zh"] for code in NUMBERS)


def near(text: str) -> list[int]:
    found = explain(text)
    assert isinstance(found, NotFound), found
    return [c.code for c in found.near]


def test_swapped_digits_come_first() -> None:
    assert near("507081")[0] == 507018


def test_a_number_between_known_ones_gives_its_neighbours() -> None:
    assert near("100046") == [100045, 100044, 100043]


def test_a_mistyped_name() -> None:
    assert near("ACL_ERROR_RT_AICPU_EXEPTION")[0] == 507018
    assert near("streem_sync_timeout")[0] == 507046


def test_nothing_is_near_to_what_is_far() -> None:
    assert near("5") == []
    assert near("hello") == []
    assert near("") == []


def test_an_inner_number_points_to_the_public_one() -> None:
    found = explain("0x7020023")
    assert isinstance(found, NotFound)
    assert "ErrCode=" in found.range["en"]


@given(st.sampled_from([c for c in NUMBERS if c]))
def test_decimal_hexadecimal_and_wrapped_agree(code: int) -> None:
    answers = {known(text).code for text in (str(code), hex(code), str(-code), str((1 << 32) - code), hex((1 << 32) - code))}
    assert answers == {code}


@given(st.text(max_size=40))
def test_any_text_gets_an_answer(text: str) -> None:
    assert isinstance(explain(text), Explanation | NotFound)
