"""The command `npu-diag`: what is wrong with this host, this log, this error."""

from __future__ import annotations

from typing import NoReturn

from cli.common import Verb, lazy_app, run

CHECK, HOSTS = "Check a host", "Simulated hosts"

VERBS = {
    "check": Verb("cli.commands.check:app", "Check a host: versions, environment, libraries, devices, limits.", CHECK),
    "diff": Verb("cli.commands.diff:app", "Name what differs between hosts.", CHECK),
    "collector": Verb("cli.commands.collector:app", "Print a shell script that collects the facts of a server.", CHECK),
    "bundle": Verb("cli.commands.bundle:app", "Pack facts, logs and profiles of this host for somebody else.", CHECK),
    "host": Verb("cli.commands.host:app", "Make, list, choose and show simulated hosts.", HOSTS),
    "log": Verb("cli.commands.log:app", "Find the first fault in logs of one or more ranks, and what to do.", "Explain"),
    "hang": Verb("cli.commands.hang:app", "Say what a process that stands still waits for.", "Explain"),
    "error": Verb("cli.commands.error:app", "Say what an error code means and what to do.", "Explain"),
}

EXAMPLES = (
    ("npu-diag check", "is this host in order"),
    ("npu-diag check env.txt npu-smi.txt", "the same for a host these texts come from"),
    ("npu-diag log ~/ascend/log", "which fault came first, and what to do"),
    ("npu-diag error 507018", "meaning, cause and steps of a code"),
    ("npu-diag error 0x7bc80 --lang zh", "the same from a hexadecimal number, in Chinese"),
    ("npu-diag error aicpu_exception --json", "by name, for scripts"),
)

app = lazy_app("npu-diag", VERBS, "Diagnose an Ascend host: its environment, logs and error codes.", EXAMPLES)


def main() -> NoReturn:
    run("npu-diag", app)
