"""The command `npu-diag`: what is wrong with this host, this log, this error."""

from __future__ import annotations

from typing import NoReturn

from cli.common import Verb, lazy_app, run

VERBS = {
    "error": Verb("cli.commands.error:app", "Say what an error code means and what to do.", "Explain"),
}

EXAMPLES = (
    ("npu-diag error 507018", "meaning, cause and steps of a code"),
    ("npu-diag error 0x7bc80 --lang zh", "the same from a hexadecimal number, in Chinese"),
    ("npu-diag error aicpu_exception --json", "by name, for scripts"),
)

app = lazy_app("npu-diag", VERBS, "Diagnose an Ascend host: its environment, logs and error codes.", EXAMPLES)


def main() -> NoReturn:
    run("npu-diag", app)
