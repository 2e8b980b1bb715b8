"""Why a model came out of its conversion unfused, as its capture tells: what the converter refused, and passes it left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from profiler.trace import Trace

OFF = "switched off"  # as npu.graph.compile writes it: anything else is a reason of its own


class Unconverted(NamedTuple):
    """case: off (the passes were switched off) | rests (they need fixed shapes) | refused (they did not apply there) |
    "" (not known). refusal: the commonest reason, with the node it was given for and how many places have it."""

    case: str = ""
    refusal: str = ""
    node: str = ""
    places: int = 0


def unconverted(trace: Trace, passes: Iterable[str], kernels: Iterable[str]) -> Unconverted:
    """What the conversions in a capture say of these passes and of kernels by name (a refusal names one node of its place)."""
    names, wanted = set(kernels), set(passes)
    misses: list[tuple[str, str]] = []
    left_out: Counter[str] = Counter()
    for build in _builds(trace):
        refused = ((str(n), str(why)) for name, n, why in build.get("near_misses", ()) if name in wanted)
        misses += [miss for miss in refused if miss[0] in names]
        left_out.update(str(why) for name, why in dict(build.get("passes_off", {})).items() if name in wanted)
    if misses:
        kinds = Counter(_kind(reason) for _, reason in misses)
        most, count = kinds.most_common(1)[0]
        node, reason = next(m for m in misses if _kind(m[1]) == most)
        return Unconverted("refused", reason, node, count)
    if left_out:
        return Unconverted("off" if left_out.most_common(1)[0][0] == OFF else "rests")
    return Unconverted()


def _builds(trace: Trace) -> list[Mapping[str, Any]]:
    """The records of the conversions of all loaded models (meta "model_<number>")."""
    found: list[Mapping[str, Any]] = []
    for name, facts in trace.meta.items():
        head, _, number = name.partition("_")
        build = facts.get("build") if head == "model" and number.isdigit() and isinstance(facts, dict) else None
        if isinstance(build, dict):
            found.append(build)
    return found


def _kind(reason: str) -> str:
    """The words of a reason without the names in it."""
    return " ".join(w for w in reason.split() if not any(c in w for c in "/_.:0123456789@"))
