"""Driver and firmware: there, fitting each other, fitting the CANN in force."""

from __future__ import annotations

from collections.abc import Iterator

from diag.checks import facts
from diag.seen import Seen
from diag.verdict import ERROR, WARNING, Verdict
from npu.host import compat
from npu.host.parts import Driver, Install


def present(seen: Seen) -> Iterator[Verdict]:
    """A toolkit or runtime without a driver, a driver without firmware, modules that are not loaded."""
    found = seen.host.found
    if seen.modules is False:
        yield Verdict("driver_not_loaded", ERROR, {}, ("lsmod",))
    if found is None or not (found.installs or found.drivers or found.firmware):
        return
    tool_answers = seen.smi is not None and bool(seen.smi.devices)
    if not found.drivers and found.installs and seen.host.simulated is not None and not tool_answers:
        yield Verdict(
            "driver_in_container" if seen.host.container else "driver_missing",
            ERROR,
            {"cann": found.installs[0].version},
            ("/usr/local/Ascend/driver/version.info",),
        )
    if found.drivers and not found.firmware and seen.host.simulated is not None and not seen.host.container:
        yield Verdict(
            "firmware_missing", ERROR, {"driver": found.drivers[0].version}, ("/usr/local/Ascend/firmware/version.info",)
        )
    if seen.smi is not None and found.drivers and seen.smi.driver and not compat.same(seen.smi.driver, found.drivers[0].version):
        yield Verdict(
            "driver_needs_reboot",
            WARNING,
            {"loaded": seen.smi.driver, "installed": found.drivers[0].version},
            ("npu-smi info", found.drivers[0].file),
        )


def firmware(seen: Seen) -> Iterator[Verdict]:
    """Each side's list of the other."""
    found = seen.host.found
    if found is None or not found.drivers or not found.firmware:
        return
    driver, other = found.drivers[0], found.firmware[0]
    if compat.firmware_fits(driver, other) is False:
        ranges = ", ".join(f"{low} to {high}" for low, high in driver.lists_firmware) or "-"
        yield Verdict(
            "firmware_mismatch",
            ERROR,
            {"driver": driver.version, "firmware": other.version, "ranges": ranges},
            (driver.file, other.file),
        )


def with_cann(seen: Seen) -> Iterator[Verdict]:
    """The hard rule by the lists in the files, the support rule by the release notes."""
    driver, install = facts.driver(seen), facts.active(seen)
    if driver is None or install is None:
        return
    rule = compat.supported(driver.version, install.version)
    known = {
        "driver": driver.version,
        "cann": install.version,
        "hdk": ", ".join(compat.hdk_for(install.version)) or "?",
        "driver_branch": _short(compat.driver_branch(driver)),
        "cann_branch": _short(compat.cann_branch(install)),
        "cann_list": _listed(install),
        "driver_list": _names(driver),
    }
    evidence = tuple(f for f in (driver.file, install.file) if f)
    if compat.allowed(driver, install) is False:
        yield Verdict("driver_newer_than_cann" if rule == "newer" else "driver_older_than_cann", ERROR, known, evidence)
    elif rule == "older":
        yield Verdict("driver_below_support", WARNING, known, evidence)


def _short(branch: object) -> str:
    return str(branch).rpartition("R001")[2] if branch is not None else "?"


def _listed(install: Install) -> str:
    return _join([(low, high) for low, high in compat.cann_list(install)])


def _names(driver: Driver) -> str:
    return _join([(low, high) for low, high in driver.lists_cann])


def _join(ranges: list[tuple[str, str]]) -> str:
    short = [(low.rpartition("R001")[2] or low, high.rpartition("R001")[2] or high) for low, high in ranges]
    return ",".join(low if low == high else f"{low}..{high}" for low, high in short) or "no list"
