"""A pasted terminal session around the tool's text: which commands were typed, and what they answered."""

from __future__ import annotations

import re
from collections.abc import Sequence

from diag.smi.records import Answered

PROMPT = re.compile(
    r"^\s*(?:\(\S+\)\s*)?(?:[\w.-]+@[\w.-]+:?[^\s#$]*\s*|\[[^\]]*\]|(?:bash|sh)-[\d.]+)?[#$]\s+(?P<command>\S.*)$"
)
LIBRARY_PATH = re.compile(r"LD_LIBRARY_PATH")
DEVICE_NODES = re.compile(r"\bls\b.*(?:/dev\b|davinci)")
DEVICE_NODE = re.compile(r"\bdavinci\d+\b")


def commands(lines: Sequence[str]) -> tuple[Answered, ...]:
    """Every prompt line with what follows it up to the next one; nothing for a text without prompts."""
    made: list[tuple[str, list[str]]] = []
    for line in lines:
        match = PROMPT.match(line)
        if match is not None:
            made.append((match["command"].strip(), []))
        elif made and line.strip():
            made[-1][1].append(line.rstrip())
    return tuple(Answered(command, tuple(output)) for command, output in made)


def library_path_empty(session: Sequence[Answered]) -> bool:
    """The session printed LD_LIBRARY_PATH and it was empty."""
    asked = [
        answer for answer in session if LIBRARY_PATH.search(answer.command) and answer.command.startswith(("echo", "printenv"))
    ]
    return any(not answer.output for answer in asked)


def no_device_nodes(session: Sequence[Answered]) -> bool:
    """The session listed the device nodes and there was no /dev/davinciN."""
    asked = [answer for answer in session if DEVICE_NODES.search(answer.command)]
    return bool(asked) and not any(DEVICE_NODE.search(line) for answer in asked for line in answer.output)
