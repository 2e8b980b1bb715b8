"""The NPU's own network ports, as hccn_tool prints them: link, health, TLS switch, ping."""

from __future__ import annotations

import re

from diag.seen import Port, Seen
from npu.host.host import Host

SOURCE = "text"
ID = re.compile(r"\bhccn_tool\s+(?:-\w+\s+)*?-i\s+(?P<id>\d+)\b")
LOOP = re.compile(r"\bfor\s+\w+\s+in\s+(?:\{(?P<a>\d+)\.\.\d+\}|\$\(seq\s+(?P<b>\d+)\s+\d+\)|(?P<c>\d+)\b)")
LINK = re.compile(r"^\s*link status: ?(?P<link>\w+)\s*$", re.MULTILINE | re.IGNORECASE)
HEALTH = re.compile(r"^\s*net health status: ?(?P<health>\S.*?)\s*$", re.MULTILINE | re.IGNORECASE)
TLS = re.compile(r"\bdev_id: ?(?P<id>\d+), ?tls switch ?\[(?P<tls>[01])\]", re.IGNORECASE)
PING = re.compile(r"^\s*device (?P<id>\d+) PING (?P<address>[\w.:]+)", re.MULTILINE)
LOST = re.compile(r"(?P<sent>\d+) packets transmitted, (?P<back>\d+) received")


def ports(command: str, output: str) -> Seen | None:
    """One Port for each answer. Answers in a loop carry no number: they are counted from the loop's first."""
    one, loop = ID.search(command), LOOP.search(command)
    first = int(one["id"]) if one else next((int(n) for n in loop.groups() if n), 0) if loop else None
    made = [Port(_number(first, at), link=m["link"].upper()) for at, m in enumerate(LINK.finditer(output))]
    made += [Port(_number(first, at), health=m["health"]) for at, m in enumerate(HEALTH.finditer(output))]
    made += [Port(int(m["id"]), tls=m["tls"]) for m in TLS.finditer(output)]
    for asked, counts in zip(PING.finditer(output), LOST.finditer(output), strict=False):
        made.append(Port(int(asked["id"]), peer=asked["address"], sent=int(counts["sent"]), back=int(counts["back"])))
    return Seen(Host(SOURCE), ports=tuple(made)) if made else None


def _number(first: int | None, at: int) -> int | None:
    return None if first is None else first + at
