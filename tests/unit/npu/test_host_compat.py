"""Which versions go together: by the lists in the files, and by the release notes."""

import pytest

from npu.host import compat
from npu.host.parts import Driver, Firmware, Install
from npu.host.versions import Branch, ranges


def driver(version="25.0", branch=None, cann="", firmware="", package=""):
    return Driver("/d", version, branch, ranges(cann), ranges(firmware), package)


def cann(version="8.0", branch=None, lists=""):
    return Install("toolkit", "classic", "/c", version, branch=branch, lists=ranges(lists))


C12, C15, C21, C22 = (Branch(100, 1, c) for c in (12, 15, 21, 22))


@pytest.mark.parametrize(
    ("one", "other", "answer"),
    [
        (driver(branch=C21, cann="[V100R001C17],[V100R001C21]"), cann("1.0", C22, "[V100R001C21],[V100R001C23]"), True),
        (driver(branch=C22, cann="[V100R001C21]"), cann("1.0", C21, "[V100R001C20]"), True),  # the driver's list knows it
        (driver(branch=C22), cann("1.0", C22), True),  # equal branches need no list
        (driver(branch=C12, cann="[V100R001C12]"), cann("1.0", C15, "[V100R001C15]"), False),
        (driver("1.0"), cann("1.0"), None),
        (driver("1.0", C12), cann("1.0", C15), None),  # no list on either side
    ],
)
def test_the_hard_rule(one, other, answer):
    assert compat.allowed(one, other) is answer


def test_branch_and_list_of_a_release_come_from_the_table_where_the_files_do_not_tell():
    assert compat.cann_branch(cann("8.2.RC1")) == C22
    assert compat.driver_branch(driver("23.0.3")) == C15  # of its train
    assert compat.allowed(driver("23.0.3"), cann("9.0.0")) is False
    assert compat.allowed(driver("23.0.3"), cann("8.0.0")) is True


@pytest.mark.parametrize(
    ("version", "of", "rule"),
    [
        ("25.5.1", "9.0.0", "listed"),
        ("26.0.rc1", "9.0.0", "listed"),
        ("26.1.0", "9.0.0", "newer"),
        ("25.2.0", "9.0.0", "older"),
        ("25.3.rc1", "8.5.0", "listed"),
        ("25.1.0", "8.5.0", "between"),
        ("24.1.0", "8.5.0", "older"),
        ("25.2.0", "1.2.3", "unknown"),
    ],
)
def test_the_support_rule(version, of, rule):
    assert compat.supported(version, of) == rule


def test_firmware():
    pair = driver("24.1.0", firmware="[7.0.0,7.5.99]", package="24.1.0")
    assert compat.firmware_fits(pair, Firmware("/f", "7.5.0.3.220", "24.1.rc3")) is True
    assert compat.firmware_fits(pair, Firmware("/f", "9.9", "24.1.0")) is True  # one package
    assert compat.firmware_fits(pair, Firmware("/f", "1.84.15", "22.0.4")) is False
    assert compat.firmware_fits(driver(), Firmware("/f", "1.84.15")) is None


def test_pairings_of_python_packages():
    assert compat.pairs("torch_npu", "2.5.1.post1.dev20250619", "CANN") == ("8.2.RC1",)
    assert compat.partners("torch_npu", "CANN", "8.2.RC1")[0] == "2.6.0"
    assert compat.adapter_accepts("2.6.0", "8.1.RC1") and not compat.adapter_accepts("2.6.0", "9.0.0")
