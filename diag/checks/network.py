"""The NPU's own network ports: up, healthy, with one TLS switch, and reaching each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from diag.seen import Port, Seen
from diag.verdict import ERROR, WARNING, Verdict

TOOL = "hccn_tool"


def ports(seen: Seen) -> Iterator[Verdict]:
    down = [p for p in seen.ports if p.link == "DOWN"]
    if down:
        yield Verdict("port_down", ERROR, {"names": _names(down), "first": _first(down)}, (f"{TOOL} -link -g",))
    for port in seen.ports:
        if port.sent and not port.back:
            facts = {"name": _names([port]), "peer": port.peer, "sent": port.sent, "first": _first([port])}
            yield Verdict("port_unreachable", ERROR, facts, (f"{TOOL} -ping",))
    off, on = ([p for p in seen.ports if p.tls == switch] for switch in ("0", "1"))
    if off and on:
        facts = {"on": _names(on), "off": _names(off), "first": _first(on)}
        yield Verdict("port_tls_differs", ERROR, facts, (f"{TOOL} -tls -g",))
    for status in dict.fromkeys(p.health for p in seen.ports if p.health and p.health.lower() != "success"):
        ill = [p for p in seen.ports if p.health == status]
        facts = {"names": _names(ill), "status": status, "first": _first(ill)}
        yield Verdict("port_unhealthy", WARNING, facts, (f"{TOOL} -net_health -g",))


def _names(ports: Iterable[Port]) -> str:
    numbers = [p.device for p in ports]
    known = ", ".join(str(n) for n in numbers if n is not None)
    return f"NPU {known}" if known else f"{len(numbers)} NPU"


def _first(ports: list[Port]) -> str:
    return str(next((p.device for p in ports if p.device is not None), "<NPU>"))
