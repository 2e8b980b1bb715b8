"""CANN installs: there, how many, of which kind, switched as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from diag.checks import facts
from diag.seen import Seen
from diag.verdict import ERROR, INFO, WARNING, Verdict


def present(seen: Seen) -> Iterator[Verdict]:
    """None at all; several versions; runtime only (no converter)."""
    found = seen.host.found
    if found is None:
        return
    whole = seen.host.simulated is not None  # a tree or this machine, not a few pasted files
    if whole and not found.installs:
        yield Verdict("no_cann", ERROR, {}, ("/usr/local/Ascend",))
    if whole and found.drivers and found.record is None:
        yield Verdict("install_record_missing", WARNING, {}, ("/etc/ascend_install.info",))
    versions = list(dict.fromkeys(i.version for i in found.installs))
    if len(versions) > 1:
        chosen = facts.active(seen)
        yield Verdict(
            "several_versions_installed",
            INFO,
            {"versions": ", ".join(versions), "active": chosen.version if chosen else "?"},
            tuple(i.path for i in found.installs),
        )
    chosen = facts.active(seen)
    if whole and chosen is not None and chosen.components and not chosen.atc and chosen.kind != "nnae":
        yield Verdict("runtime_only_no_atc", INFO, {"cann": chosen.version, "kind": chosen.kind}, (chosen.path,))


def switched(seen: Seen) -> Iterator[Verdict]:
    """A version.cfg whose packages do not all run one version, or run none."""
    found = seen.host.found
    for folder, cfg in (found.cfg if found is not None else {}).items():
        running = {name: pairs["running"][-1][1] if pairs["running"] else "" for name, pairs in cfg.items() if "running" in pairs}
        if len(set(running.values())) > 1:
            told = ", ".join(f"{name} {version or 'none'}" for name, version in sorted(running.items()))
            yield Verdict("half_switched", ERROR, {"running": told}, (f"{folder}/version.cfg",))
