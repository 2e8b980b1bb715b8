"""The devices as the device tool shows them, and the minimal program that opens one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diag import smi_findings
from diag.seen import Seen
from diag.smi_findings import SmiFinding
from diag.verdict import ERROR, INFO, WARNING, Verdict

SEVERITY = {"critical": ERROR, "warning": WARNING, "note": INFO}
# Findings of the device tool's text that are no news in a check of the host.
QUIET = {"all_free", "hugepages_used_up", "unsupported", "wrong_use", "tool_and_driver", "cut_short", "no_device_nodes"}
# What the tool says of a driver that is not there; the missing files are told already.
OF_NO_DRIVER = {"driver_not_usable", "tool_absent", "missing_library", "no_card"}
TOOL = "npu-smi"


def tool(seen: Seen) -> Iterator[Verdict]:
    """Everything found in the device tool's answer: refusals, health, heat, memory, who is busy and who is free."""
    if seen.smi is None:
        return
    found = seen.host.found
    told = found is not None and seen.host.simulated is not None and not found.drivers and bool(found.installs)
    for finding in smi_findings.find(seen.smi):
        if finding.id not in QUIET and not (told and finding.id in OF_NO_DRIVER) and not _said_by_loader(finding, seen):
            severity = INFO if finding.id == "no_free_device" else SEVERITY[finding.severity]
            yield Verdict(finding.id, severity, finding.facts, (TOOL,), table="smi")


def _said_by_loader(finding: SmiFinding, seen: Seen) -> bool:
    return finding.id == "missing_library" and any(one.what in str(finding.facts.get("said", "")) for one in seen.loading)


def on_the_bus(seen: Seen) -> Iterator[Verdict]:
    """Cards that fell off the PCI bus."""
    if seen.fell_off:
        yield Verdict("card_fell_off", ERROR, {"addresses": ", ".join(seen.fell_off)}, ("lspci",))


def links(seen: Seen) -> Iterator[Verdict]:
    """PCIe links that trained with fewer lanes or at a lower rate than the card can."""
    for link in seen.slow_links:
        share = link.most_speed * link.most_width / (link.speed * link.width)
        facts = {
            "address": link.address,
            "now": f"{link.speed:g} GT/s x{link.width}",
            "can": f"{link.most_speed:g} GT/s x{link.most_width}",
            "times": f"{share:g}",
        }
        yield Verdict("pcie_link_slow", WARNING, facts, ("lspci -vv",))


def affinity(seen: Seen) -> Iterator[Verdict]:
    """The CPUs this process may use against those near each device."""
    topology = seen.smi.topology if seen.smi is not None else None
    allowed = set(seen.host.cpus or ())
    for name, text in (topology.affinity if topology is not None else {}).items():
        near = _cpus(text)
        if near and allowed and not near & allowed:
            known = {"device": name, "near": text, "allowed": _spans(allowed)}
            yield Verdict("far_cpus", INFO, known, ("npu-smi info -t topo",))


def probe(seen: Seen) -> Iterator[Verdict]:
    """The minimal program failed at a step."""
    probed = seen.probed
    if probed is not None and probed.failed:
        known = {"step": probed.failed, "message": probed.message, "passed": ", ".join(probed.passed) or "-"}
        if probed.code is None:
            yield Verdict("probe_broken", ERROR, known, ("--probe",))
        else:
            yield Verdict("probe_failed", ERROR, {**known, "code": probed.code}, ("--probe",))


def _cpus(text: str) -> set[int]:
    spans = re.findall(r"(\d{1,5})(?:-(\d{1,5}))?", text)
    return {n for low, high in spans for n in range(int(low), int(high or low) + 1)}


def _spans(numbers: set[int]) -> str:
    ordered = sorted(numbers)
    starts = [n for n in ordered if n - 1 not in numbers]
    ends = [n for n in ordered if n + 1 not in numbers]
    return ",".join(f"{a}-{b}" if a != b else str(a) for a, b in zip(starts, ends, strict=True))
