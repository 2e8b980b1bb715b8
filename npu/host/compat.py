"""Which versions go together: the hard rule by the lists in the version files, the support rule by the release notes.

Release notes and lists of public hosts stand in data/compatibility.csv; what no source names is answered with None.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

from npu.host.parts import Driver, Firmware, Install
from npu.host.versions import Branch, Range, branch, branch_listed, cut_order, key, newer, ranges, version_listed

_HDK = re.compile(r"\d+\.\d+(?:\.[0-9A-Za-z]+)*")
PRODUCT = re.compile(r"\((?!other)")  # a pairing of one product line only: "25.7.RC1 (Atlas 350)"


@dataclass(frozen=True, slots=True)
class Row:
    """One pairing of the table: `left` of a version (or range) belongs with `right` of one."""

    kind: str
    left: str
    left_version: str
    right: str
    right_version: str


@cache
def table() -> tuple[Row, ...]:
    """Every row of data/compatibility.csv."""
    text = resources.files("npu").joinpath("data/compatibility.csv").read_text(encoding="utf-8")
    return tuple(
        Row(r["kind"], r["left"], r["left_version"], r["right"], r["right_version"]) for r in csv.DictReader(text.splitlines())
    )


def same(one: str, other: str) -> bool:
    """Equal versions, whatever their letter case: 24.1.rc3 and 24.1.RC3."""
    return key(one) == key(other)


def cann_branch(install: Install) -> Branch | None:
    """Of its file, else of the release as public hosts show it."""
    return install.branch or _listed_branch("CANN", install.version)


def driver_branch(driver: Driver) -> Branch | None:
    """Of its file, else of a release of the same train (first two fields) in the table."""
    return driver.branch or _listed_branch("driver", driver.version)


def _listed_branch(what: str, version: str) -> Branch | None:
    rows = [r for r in table() if r.kind == "branch" and r.left == what and r.right == "inner branch"]
    exact = [r for r in rows if same(r.left_version, version)]
    train = [r for r in rows if what == "driver" and key(r.left_version)[:2] == key(version)[:2] and newer(version, "0")]
    return next((branch(r.right_version) for r in (*exact, *train)), None)


def cann_list(install: Install) -> tuple[Range, ...]:
    """The branches a CANN names as fit: of its file, else of the release as public hosts show it."""
    return install.lists or next(
        (
            ranges(r.right_version)
            for r in table()
            if r.kind == "install_file"
            and r.left == "CANN"
            and same(r.left_version, install.version)
            and r.right == "compatible_version"
        ),
        (),
    )


def allowed(driver: Driver, install: Install) -> bool | None:
    """The hard rule: allowed when the driver's branch is in the CANN's list, the CANN's in the driver's, or both are equal.

    None when neither side's list and branch can tell. Either side may be the one that knows the other.
    """
    of_driver, of_cann = driver_branch(driver), cann_branch(install)
    known = cann_list(install)
    if of_driver is not None and of_driver == of_cann:
        return True
    answers = [branch_listed(b, lists) for b, lists in ((of_driver, known), (of_cann, driver.lists_cann)) if b and lists]
    if any(answers):
        return True
    return False if len(answers) == 2 or (answers and not driver.lists_cann) else None


@cache
def hdk_for(cann: str) -> tuple[str, ...]:
    """Driver packages that release notes name with a CANN, lowest first; `25.3.X` stands for a train. Empty: none is known."""
    found: dict[str, None] = {}
    for row in table():
        if row.left == "CANN" and row.right == "HDK" and same(row.left_version, cann) and not PRODUCT.search(row.right_version):
            found |= dict.fromkeys(_HDK.findall(row.right_version.partition("(")[0]))
    return tuple(sorted(found, key=key))


def supported(driver: str, cann: str) -> str:
    """The support rule: `listed`, `newer` than all listed (accepted), `older` than all listed, `between`, `unknown`."""
    listed = hdk_for(cann)
    if not listed:
        return "unknown"
    bounds = [text.removesuffix(".X") for text in listed]
    if any(cut_order(driver, b) == 0 for b in bounds):
        return "listed"
    if all(cut_order(driver, b) > 0 for b in bounds):
        return "newer"
    return "older" if all(cut_order(driver, b) < 0 for b in bounds) else "between"


def firmware_fits(driver: Driver, firmware: Firmware) -> bool | None:
    """A pair of one package is fine; else either side's list must name the other. None when neither has a list."""
    if driver.package and driver.package == firmware.package:
        return True
    answers = [
        version_listed(v, lists)
        for v, lists in ((firmware.version, driver.lists_firmware), (driver.version, firmware.lists_drivers))
        if lists
    ]
    return any(answers) if answers else None


def public(version: str) -> str:
    """A Python package version without its local and development part: 2.5.1.post1.dev20250619 -> 2.5.1.post1."""
    return re.sub(r"\.?dev\d*$", "", version.partition("+")[0])


def pairs(left: str, version: str, right: str) -> tuple[str, ...]:
    """What `left` of that version is paired with: ("torch_npu", "2.6.0", "CANN") -> ("8.2.RC1",)."""
    wanted = public(version).removeprefix("v")
    return tuple(
        r.right_version
        for r in table()
        if r.kind == "pairing" and r.left == left and r.right == right and same(r.left_version, wanted)
    )


def partners(left: str, right: str, right_version: str) -> tuple[str, ...]:
    """Versions of `left` that are paired with that version of `right`, newest first."""
    found = {
        r.left_version
        for r in table()
        if r.kind == "pairing" and r.left == left and r.right == right and same(r.right_version, right_version)
    }
    return tuple(sorted(found, key=key, reverse=True))


def adapter_accepts(torch_npu: str, cann: str) -> bool:
    """Whether the release a torch_npu was built from lists this CANN as compatible, beside its own pairing."""
    wanted = public(torch_npu)
    built = [r.right_version for r in table() if r.kind == "branch" and r.left == "torch_npu" and same(r.left_version, wanted)]
    releases = {text.rpartition("-")[2] for text in built}
    return any(
        r.left == "PTA release" and r.right == "CANN" and r.left_version in releases and same(r.right_version, cann)
        for r in table()
    )
