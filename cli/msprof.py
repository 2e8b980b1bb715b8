"""`msprof`: our verbs, and the real tool's own forms beside them; the first word decides.

A verb's module is imported when the verb is called. On a machine with a real driver native forms are the real tool's business.
"""

from __future__ import annotations

import os
import sys

from cli import real_tool
from cli.common import Verb, lazy_app, run

NAME = "msprof"
RECORD, READ, TRACES = "Record", "Read", "Trace files"

VERBS: dict[str, Verb] = {
    "run": Verb("cli.commands.run:app", "Run a pyACL script, record everything, export and summarise.", RECORD),
    "analyze": Verb("cli.commands.analyze:analyze", "Findings in order of the time they cost.", READ),
    "whatif": Verb("cli.commands.whatif:whatif", "What changes would gain: the profile replayed with them.", READ),
    "compare": Verb("cli.commands.compare:compare", "What got slower between two profiles, and why.", READ),
    "report": Verb("cli.commands.report:report", "One HTML page: findings, advice, charts and timeline.", READ),
    "timeline": Verb("cli.commands.timeline:timeline", "One HTML page with the timeline and the findings beside it.", READ),
    "export": Verb("cli.commands.export:export", "The real tool's files again from a capture.", READ),
    "check": Verb("cli.commands.trace_check:check", "What is wrong with a trace file or profile folder.", TRACES),
    "merge": Verb("cli.commands.merge:merge", "Several traces as one, clocks aligned.", TRACES),
    "cut": Verb("cli.commands.cut:cut", "A time range of a trace as a file of its own.", TRACES),
    "convert": Verb("cli.commands.convert:convert", "A trace in another form: JSON that viewers take, CSV, database.", TRACES),
    "query": Verb("cli.commands.query:query", "Ask a trace in SQL.", TRACES),
}

HELP = "Record, analyse and show what an Ascend NPU did."

EXAMPLES = (
    ("msprof run script.py", "record a script on the simulated NPU"),
    ("msprof analyze PROF_000001_...", "why it is slow, and what a fix would gain"),
    ("msprof report PROF_000001_... --open", "all of it as one page in the browser"),
    ("msprof --output=out python script.py", "the real tool's form: any --option first, or a program"),
)


def main() -> None:
    """The console script."""
    arguments = sys.argv[1:]
    completing = f"_{NAME.upper()}_COMPLETE" in os.environ
    if arguments and arguments[0] not in VERBS and not completing:
        from cli.native import msprof as native

        if not native.is_ours(arguments[0]):
            real_tool.hand_on(NAME, arguments)
        if native.is_native(arguments[0]):
            real_tool.say_simulated(NAME)
            run(NAME, native.main)
    run(NAME, lazy_app(NAME, VERBS, HELP, EXAMPLES))
