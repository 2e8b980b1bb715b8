"""Device nodes and accounts, as ls, id and getent print them."""

from __future__ import annotations

import re

from diag.seen import Seen
from npu.host.access import DEVICE, NODES, Account, Node
from npu.host.host import Host

SOURCE = "text"
LONG = re.compile(
    r"^[cb](?P<mode>[rwxsStT-]{9})[.+@]?\s+\d+\s+(?P<owner>\S+)\s+(?P<group>\S+)\s+\d+,\s*\d+\s+.*?(?:/dev/)?(?P<name>[\w]+)\s*$",
    re.MULTILINE,
)
ID = re.compile(
    r"\buid=(?P<uid>\d{1,10})(?:\((?P<name>[^)]*)\))?\s+gid=(?P<gid>\d{1,10})(?:\((?P<group>[^)]*)\))?(?:\s+groups=(?P<groups>\S+))?"
)
ENTRY = re.compile(r"^(?P<name>[\w.-]+):[^:\n]*:(?P<uid>\d+):(?P<gid>\d+):", re.MULTILINE)
UNKNOWN = re.compile(
    r"cannot find name for (?:user|group) ID (?P<id>\d+)|whoami: .*?(?P<id2>\d+)|no such user|I have no name!"
    r"|getpwuid\(\): uid not found: (?P<id3>\d+)"
)
ASKED = re.compile(r"^getent\s+passwd\s+(?P<uid>\d+)\b|^grep\s.*?(?P<uid2>\d{2,})\D.*/etc/passwd")


def listing(command: str, output: str) -> Seen | None:
    """`ls -l /dev/davinci*` and plain `ls /dev`. An answer without a device node to such a command means there is none."""
    made = {
        m["name"]: Node(m["name"], m["mode"], m["owner"], m["group"])
        for m in LONG.finditer(output)
        if DEVICE.fullmatch(m["name"]) or m["name"] in NODES
    }
    asked = (
        command.startswith(("ls ", "ll ", "find ")) and "/dev" in command and ("davinci" in command or command.endswith("/dev"))
    )
    if command.startswith("ls ") and "/dev" in command and not made:
        words = [
            w.rpartition("/")[2].rstrip(":") for line in output.splitlines() if "cannot access" not in line for w in line.split()
        ]
        made = {w: Node(w) for w in words if DEVICE.fullmatch(w) or w in NODES}
    refused = "cannot access" in output and "/dev/davinci" in output
    if not made and not refused and not (asked and "davinci" in command):
        return None
    return Seen(Host(SOURCE, nodes=tuple(made.values())))


def identity(command: str, output: str) -> Seen | None:
    """`id`. A uid without a name in brackets has no entry in /etc/passwd."""
    match = ID.search(output)
    if match is None:
        return None
    named = re.findall(r"(\d+)(?:\(([^)]*)\))?", match["groups"] or "")
    groups = [name or number for number, name in named] or [match["group"] or match["gid"]]
    return Seen(Host(SOURCE, account=Account(int(match["uid"]), int(match["gid"]), match["name"] or "", tuple(groups))))


def passwd(command: str, output: str) -> Seen | None:
    """Signs that a uid has no entry: getent without an answer, whoami's complaint, a prompt without a name."""
    asked = ASKED.match(command)
    if asked and not ENTRY.search(output):
        return Seen(Host(SOURCE, account=None), unresolved=(int(asked["uid"] or asked["uid2"]),))
    found = UNKNOWN.search(output)
    number = found and (found["id"] or found["id2"] or found["id3"])
    return Seen(Host(SOURCE), unresolved=(int(number),)) if number else None
