"""Packages of one CANN: what they require of each other, and the operator binaries of the chip."""

from __future__ import annotations

from collections.abc import Iterator

from diag.checks import facts
from diag.seen import Seen
from diag.verdict import ERROR, WARNING, Verdict
from npu import soc
from npu.host.parts import Install
from npu.host.versions import key, meets

OPS_SINCE = "8.5.0"  # from here on the operators of a chip are a package of their own
KERNELS_SINCE = "8.0.0"  # classic layout: opp_kernel is expected beside the toolkit
# chip family of npu.soc -> name in Ascend-cann-<name>-ops
OPS_NAMES = {"910B": "910b", "910_93": "a3", "310P": "310p", "310B": "310b", "910": "910", "310": "310"}


def required(seen: Seen) -> Iterator[Verdict]:
    """required_package_* of every package against the installed ones. What is not installed is skipped."""
    install = facts.active(seen)
    if install is None:
        return
    versions = {_plain(c.name): c.version for c in install.components}
    for component in install.components:
        for name, requirement in component.requires.items():
            have = versions.get(_plain(name))
            if have is not None and not meets(have, requirement):
                yield Verdict(
                    "package_mismatch",
                    ERROR,
                    {
                        "package": component.name,
                        "version": component.version,
                        "other": name,
                        "have": have,
                        "requires": requirement,
                    },
                    (component.file,),
                )


def kernels(seen: Seen) -> Iterator[Verdict]:
    """Operator binaries of the active toolkit: there, and for this chip."""
    install = facts.active(seen)
    if install is None or install.kind != "toolkit" or not install.components or not install.atc:
        return
    chip = facts.chip(seen)
    if not install.kernels and key(install.version) >= key(KERNELS_SINCE):
        yield Verdict("kernels_missing", WARNING, {"cann": install.version, "package": _package(install, chip)}, (install.path,))
    wanted = _ops_name(chip)
    named = [name for name, _ in install.kernels if name]
    if wanted and named and wanted not in named and not (wanted == "a3" and "910_93" in named):
        yield Verdict(
            "kernels_other_chip",
            ERROR,
            {"chip": chip, "have": ", ".join(named), "package": f"Ascend-cann-{wanted}-ops"},
            (install.path,),
        )


def _package(install: Install, chip: str) -> str:
    name = _ops_name(chip) or "<chip>"
    return f"Ascend-cann-{name}-ops" if key(install.version) >= key(OPS_SINCE) else f"Ascend-cann-kernels-{name}"


def _ops_name(chip: str) -> str:
    try:
        return OPS_NAMES.get(soc.find(chip).family, "") if chip else ""
    except KeyError:  # a chip the table does not know
        return ""


def _plain(name: str) -> str:
    return name.replace("-", "_")
