"""A model file against this host: its chip, and the CANN that made it."""

from __future__ import annotations

from collections.abc import Iterator

from diag.checks import facts
from diag.seen import Seen
from diag.verdict import ERROR, Verdict
from npu import soc
from npu.host import compat
from npu.host.versions import newer


def fits(seen: Seen) -> Iterator[Verdict]:
    """Models built by a newer CANN than the runtime's, or for chips of another family."""
    runtime, chip = facts.loaded_runtime(seen), facts.chip(seen)
    for model in seen.host.models:
        if runtime and model.cann and newer(model.cann, runtime):
            known = {
                "model": model.path,
                "built": model.cann,
                "cann": runtime,
                "soc": model.soc or "<chip>",
                "hdk": ", ".join(compat.hdk_for(model.cann)) or f"the one paired with CANN {model.cann}",
            }
            yield Verdict("om_newer_than_runtime", ERROR, known, (model.path,))
        if chip and model.soc and not _related(model.soc, chip):
            yield Verdict("om_other_chip", ERROR, {"model": model.path, "soc": model.soc, "chip": chip}, (model.path,))


def _related(one: str, other: str) -> bool:
    """Whether models of one chip load on the other: chips of one family."""
    try:
        return soc.find(one).family == soc.find(other).family
    except KeyError:  # a chip the table does not know: only the very same name is safe
        return one.lower() == other.lower()
