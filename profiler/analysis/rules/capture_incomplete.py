"""Rule 2: the capture lost rows."""

from __future__ import annotations

from collections.abc import Iterator

from profiler.analysis.context import Context
from profiler.analysis.judge import CAPTURE, WARNING, Name
from profiler.analysis.rules.capture_doubt import capture_doubt
from profiler.analysis.rules.host import launch_times
from profiler.findings import Finding

NAME = Name("capture-incomplete", 2, CAPTURE)
NAMED = 3
LAUNCH = ("launch", "aclrtLaunchKernel", "cudaLaunchKernel")  # where the file does not say the level of a call
LAUNCHES_MIN = 10  # fewer may well belong to what the program only prepares


def capture_incomplete(context: Context) -> Iterator[Finding]:
    """Fires when launches have no device row, when marked steps that launch work have none at all, when there is no device row at
    all, when device rows stand there twice or last far into the next ones of their stream, when the first collective shows that
    ranks began to record at different times, or when the recorder says it dropped rows. Rows a reader could not use stand in
    the report's list of what is missing. No gain."""
    launched = 0 if context.trace.task else max(len(launch_times(context)), int(context.trace.api_named(*LAUNCH).sum()))
    if launched >= LAUNCHES_MIN:
        yield Finding("capture-no-device", NAME.number, CAPTURE, "warning", {"launched": launched}, None)
    lost = context.views.losses
    if lost.launches or lost.steps:
        launched, kernels = lost.launched, lost.launched - lost.launches
        names = [n.name for n in lost.by_name if n.name][:NAMED]
        facts = {
            "launched": launched,
            "kernels": kernels,
            "lost": lost.launches,
            "names": ", ".join(names) or "-",
            "steps": ", ".join(map(str, lost.steps)) or "-",
            "lost_share": lost.launches / max(1, launched),
        }
        severity = "warning" if lost.steps or lost.launches >= WARNING * launched else "note"
        yield Finding(NAME.id, NAME.number, CAPTURE, severity, facts, None)
    yield from capture_doubt(context)
    if lost.dropped:
        yield Finding("capture-dropped", NAME.number, CAPTURE, "warning", {"dropped": lost.dropped}, None)
