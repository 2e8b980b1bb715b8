"""`msprof`: our verbs. A table only: a verb's module is imported when the verb is called."""

from __future__ import annotations

from cli.common import Verb, lazy_app, run

RECORD, READ = "Record", "Read"

VERBS: dict[str, Verb] = {
    "run": Verb("cli.commands.run:app", "Run a pyACL script, record everything, export and summarise.", RECORD),
    "analyze": Verb("cli.commands.analyze:analyze", "Findings in order of the time they cost.", READ),
    "timeline": Verb("cli.commands.timeline:timeline", "One HTML page with timeline and findings.", READ),
}

EXAMPLES = (
    ("msprof run script.py", "record a script on the simulated NPU"),
    ("msprof analyze PROF_000001_...", "why it is slow, and what a fix would gain"),
    ("msprof timeline PROF_000001_... --open", "look at it in a browser"),
)


def main() -> None:
    """The console script."""
    run("msprof", lazy_app("msprof", VERBS, "Record, analyse and show what an Ascend NPU did.", EXAMPLES))
