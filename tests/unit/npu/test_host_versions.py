"""Versions, ranges and version files of an Ascend host, in their exact syntax."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu.host import versions
from npu.host.versions import Branch, Range, branch_listed, key, meets, newer, ranges, version_cfg, version_listed


def test_the_order_puts_tests_and_candidates_before_the_release():
    ordered = [
        "7.0.RC1",
        "7.0.0",
        "8.0.T6",
        "8.0.RC2.alpha001",
        "8.0.RC2",
        "8.0.RC3",
        "8.0.0",
        "8.2.RC1",
        "8.3.RC1.alpha001",
        "8.3.RC1",
        "8.3.RC2",
        "8.5.0.alpha001",
        "8.5.0",
        "8.5.2",
        "9.0.0",
    ]
    assert sorted(reversed(ordered), key=key) == ordered


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        ("8.0.RC2", "8.0.RC2.alpha001"),
        ("25.0.rc1.1", "25.0.rc1"),
        ("24.1.0", "24.1.rc3"),
        ("2.9.0.post2", "2.9.0"),
        ("2.7.1", "2.7.1rc2"),
        ("7.0.0", "6.3.RC2"),
        ("25.10.0", "25.9.0"),
        ("v0.11.0", "v0.11.0rc3"),
    ],
)
def test_one_is_later(later, earlier):
    assert newer(later, earlier) and not newer(earlier, later)


def test_letter_case_and_local_parts_do_not_count_and_nothing_is_never_newer():
    assert key("24.1.RC3") == key("24.1.rc3") and key("2.5.1+cpu") == key("2.5.1")
    assert not newer("", "8.0.0") and not newer("8.0.0", "") and not newer("unknown", "8.0.0")


@pytest.mark.parametrize(
    ("version", "requirement", "fits"),
    [
        ("8.2.0.0.201", "<=8.2", True),
        ("8.2.0.0.201", "8.2", True),
        ("8.3.0.1.200", "8.2", False),
        ("7.6.0.1.220", '">=7.6, <=8.2"', True),
        ("7.5.0.1.129", ">=7.6, <=8.2", False),
        ("8.3.0", ">=7.6, <=8.2", False),
        ("6.3.0", ">=6.3, <=6.4, >=7.0, <=7.8", True),
        ("6.9.0", ">=6.3, <=6.4, >=7.0, <=7.8", False),
        ("7.0.0", "6.4, 7.0", True),
        ("9.1.0", ">=9.1.0", True),
        ("9.0.0", ">=9.1.0", False),
        ("1.0", "", True),
        ("3.11.9", ">= 3.9, < 3.12", True),
        ("3.12.1", ">= 3.9, < 3.12", False),
    ],
)
def test_requirements(version, requirement, fits):
    assert meets(version, requirement) is fits


def test_branches_are_compared_within_ranges_and_never_over_releases():
    listed = ranges("[V100R001C13,V100R001C19],[V100R001C30]")
    assert listed == (Range("V100R001C13", "V100R001C19"), Range("V100R001C30", "V100R001C30"))
    assert branch_listed(Branch(100, 1, 15), listed) and branch_listed(Branch(100, 1, 30), listed)
    assert not branch_listed(Branch(100, 1, 20), listed) and not branch_listed(Branch(100, 3, 15), listed)
    assert versions.branch("V100R001C22SPC001B231") == Branch(100, 1, 22)
    assert str(Branch(100, 1, 9)) == "V100R001C09"


def test_version_ranges_include_their_ends_and_a_closing_dot_means_all_that_begin_so():
    assert version_listed("7.7.0.1.231", ranges("[7.0.0,7.7.99]")) and not version_listed("7.8.0.1", ranges("[7.0.0,7.7.99]"))
    assert version_listed("24.1.rc3", ranges("[24.1,24.1.]")) and not version_listed("24.0.0", ranges("[24.1,24.1.]"))
    assert version_listed("6.4.3.1", ranges("[6.4.0,6.4.99],[7.0.0,7.7.99]"))


def test_version_cfg():
    made = version_cfg(
        "# version: 1.0\nruntime_running_version=[7.6.0.1.220:8.0.0]\nopp_kernel_running_version=\n"
        "runtime_installed_version=[7.1.0.3.220:7.0.0][7.6.0.1.220:8.0.0]\n"
    )
    assert made == {
        "runtime": {"running": (("7.6.0.1.220", "8.0.0"),), "installed": (("7.1.0.3.220", "7.0.0"), ("7.6.0.1.220", "8.0.0"))},
        "opp_kernel": {"running": ()},
    }


def test_key_values_strip_and_lower():
    assert versions.key_values("Version = 25.0\n# c=1\nversion=2\nnonsense\n=x\n") == {"version": "25.0"}
    assert versions.name_values("    Ascend-cann-atb : 8.2.RC1\nbranch:x\n") == {"ascend-cann-atb": "8.2.RC1", "branch": "x"}


@given(st.text(), st.text())
def test_nothing_raises(one, other):
    assert newer(one, other) in (True, False)
    assert not (newer(one, other) and newer(other, one))
    assert meets(one, other) in (True, False)
    version_listed(one, ranges(other))
    version_cfg(one)
