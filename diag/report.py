"""What a check gave, for people and for scripts: the same facts."""

from __future__ import annotations

from functools import cache
from typing import Any

from diag.check import Checked
from diag.checks import facts
from diag.verdict import Verdict, alternatives, do, say, texts

SCHEMA, TOOL = 1, "npu-diag check"


@cache
def words(lang: str) -> dict[str, str]:
    """The words around the verdicts."""
    return dict(texts(lang)["words"])


def lines(checked: Checked, lang: str = "en", verbose: bool = False) -> list[str]:
    """A head line, every verdict with its remedies, and one line on what was fine and what nobody looked at."""
    word = words(lang)
    made = [head(checked, lang)]
    for verdict in checked.verdicts:
        made += _verdict(verdict, lang)
    for path, why in checked.seen.host.unreadable[:5]:
        made.append(f"{word['unreadable']}: {path} ({why})")
    count = word["checks"].format(n=len(checked.fine))
    made.append(f"{word['fine']}: " + (f"{count}: {', '.join(checked.fine)}" if verbose and checked.fine else count))
    if verbose and checked.missing:
        made += [f"{word['missing']}: {name} ({', '.join(topics)})" for name, topics in checked.missing]
    made.append(f"{word['verdict']}: {_sum(checked, lang)}")
    return made


def head(checked: Checked, lang: str = "en") -> str:
    """Source, driver, firmware, CANN and devices in one line."""
    word = words(lang)
    parts = ", ".join(f"{name} {value}" for name, value in versions(checked).items() if value)
    simulated = f" ({word['simulated']})" if checked.seen.host.simulated else ""
    return f"{checked.seen.host.source}{simulated}: {parts or word['unknown']}"


def versions(checked: Checked) -> dict[str, str]:
    """The versions in force; "" for what the evidence does not tell, "none" for what is not there."""
    seen = checked.seen
    found, driver, install = seen.host.found, facts.driver(seen), facts.active(seen)
    whole = found is not None and seen.host.simulated is not None
    devices = seen.smi.devices if seen.smi is not None else ()
    return {
        "driver": driver.version if driver else "none" if whole else "",
        "firmware": found.firmware[0].version if found and found.firmware else "",
        "CANN": f"{install.version} ({install.kind})" if install else "none" if whole else "",
        "devices": f"{len(devices)} x {devices[0].name}" if devices else "",
        "torch_npu": (seen.host.packages or {}).get("torch-npu", ""),
    }


def to_json(checked: Checked, lang: str = "en") -> dict[str, Any]:
    """Schema 1; additive changes only."""
    return {
        "schema": SCHEMA,
        "tool": TOOL,
        "source": checked.seen.host.source,
        "simulated": checked.seen.host.simulated,
        "versions": versions(checked),
        "verdict": checked.worst,
        "missing": [{"what": name, "why": f"no evidence of: {', '.join(topics)}"} for name, topics in checked.missing]
        + [{"what": path, "why": why} for path, why in checked.seen.host.unreadable],
        "fine": list(checked.fine),
        "findings": [
            {
                "id": v.id,
                "severity": v.severity,
                "say": say(v, lang),
                "do": do(v, lang),
                "alternatives": alternatives(v),
                "evidence": list(v.evidence),
                "facts": {k: x if isinstance(x, int | float) else str(x) for k, x in v.facts.items()},
            }
            for v in checked.verdicts
        ],
    }


def _verdict(verdict: Verdict, lang: str) -> list[str]:
    word = words(lang)
    made = [f"{word[verdict.severity]} {verdict.id}: {say(verdict, lang)}"]
    if verdict.evidence:
        made.append(f"  {word['seen']}: {', '.join(verdict.evidence)}")
    steps = do(verdict, lang)
    for number, step in enumerate(steps):
        if alternatives(verdict):
            made.append(f"  {word['either'] if number == 0 else word['or']}: {step.removeprefix('or ')}")
        else:
            made.append(f"  {word['do']}: {step}")
    return made


def _sum(checked: Checked, lang: str) -> str:
    counts = {s: sum(v.severity == s for v in checked.verdicts) for s in ("error", "warning")}
    if not any(counts.values()):
        return words(lang)["ok"]
    return words(lang)["bad"].format(errors=counts["error"], warnings=counts["warning"])
