"""A pasted shell session as (command, output) pairs."""

from __future__ import annotations

import re
from typing import NamedTuple

COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# user@host:/path$ ls | [root@host ~]# ls | (env) user@host:~$ ls | bash-4.2$ ls | $ ls. A lone "# text" is a comment unless it
# begins with one of these commands.
ASKED = "npu-smi|ls|cat|env|echo|id|getent|ulimit|df|python3?|pip3?|ldd|docker|lspci|lsmod|uname"
PROMPT = re.compile(
    r"^\s*(?:\([\w.-]+\)\s*)?"
    r"(?:\[[^\]\n]{1,80}\]\s?[$#]\s*|[\w.-]+@[\w.-]+(?::|\s)[^\n$#]{0,120}[$#]\s*|(?:ba)?sh-[\d.]+[$#]\s*"
    r"|[\w.-]+:[~/][^\n$# ]{0,100}[$#]\s*|\$\s+|\$(?=[a-z])"
    rf"|#\s+(?=(?:{ASKED})\b))"
    r"(?P<command>\S[^\n]*|)$"
)


class Answer(NamedTuple):
    """command: "" for text before the first prompt, or without any."""

    command: str
    output: str


def answers(text: str) -> list[Answer]:
    """The session in order; one Answer without command when the text has no prompt. Colours and carriage returns go."""
    lines = COLOUR.sub("", text.removeprefix("\ufeff")).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    made: list[tuple[str, list[str]]] = [("", [])]
    for line in lines:
        match = PROMPT.match(line)
        if match is not None:
            made.append((match["command"].strip(), []))
        else:
            made[-1][1].append(line)
    return [Answer(command, "\n".join(output)) for command, output in made if command or any(output)]
