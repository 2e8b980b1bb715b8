"""Rank tables: who takes part, by JSON file. Versions 1.0 and 1.2 (super-pods) and the old template with groups are read.

Every mistake is one BadTable that names the field with its place, what stands there and what is expected; its code is the one
HCCL reports: EI0004 for the file itself, EI0014 for a wrong value, EI0017 for a missing field.
"""

from __future__ import annotations

import ipaddress
import json
from pathlib import Path
from typing import Any, NamedTuple

from npu.hccl.topology import Topology

VERSIONS = ("1.0", "1.2")
PORT = 16666  # device_port where the table gives none
MOST_ID = 64  # characters of a server_id
NO_IP = ("910B",)  # families whose device_ip may be left out within one server


class BadTable(Exception):
    """code: EI0004, EI0014 or EI0017; field: where, as server_list[0].device[1].rank_id; value: what stands there."""

    def __init__(self, code: str, field: str, value: object, expected: str) -> None:
        super().__init__(f"{field}: {value!r}, expected {expected}")
        self.code, self.field, self.value, self.expected = code, field, value, expected


class Member(NamedTuple):
    """One rank: its server and super-pod as counted in the table, its device there, addresses as written ("" for none)."""

    rank: int
    server: int
    server_id: str
    device: int
    device_ip: str
    port: int
    super_device: str
    pod: int


class RankTable(NamedTuple):
    """Members in order of rank."""

    version: str
    members: tuple[Member, ...]

    def topology(self, family: str) -> Topology:
        """The net of these ranks. Servers of one super-pod are numbered one after the other."""
        pods = [m.pod for m in self.members]
        together = max((len({m.server for m in self.members if m.pod == pod}) for pod in set(pods)), default=1)
        number = {}
        for pod in sorted(set(pods)):
            for place, server in enumerate(sorted({m.server for m in self.members if m.pod == pod})):
                number[server] = pod * together + place
        joined = any(m.super_device for m in self.members)
        return Topology(family, tuple((number[m.server], m.device) for m in self.members), together if joined else 0)


def read(path: str, family: str = "910B") -> RankTable:
    """The table of a file. BadTable."""
    file = Path(path)
    if not file.is_file():
        raise BadTable("EI0004", "rank table path", path, "a file: this is not a valid real path")
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadTable("EI0004", "rank table path", path, f"a readable file ({error.strerror})") from error
    except ValueError as error:
        raise BadTable("EI0004", "rank table path", path, f"JSON ({error})") from error
    return parse(found, family)


def parse(found: Any, family: str = "910B") -> RankTable:
    """The table of a JSON value. BadTable."""
    if not isinstance(found, dict):
        raise BadTable("EI0004", "rank table", type(found).__name__, "a JSON object")
    _one_of(found, "status", ("completed",))
    if "group_list" in found:
        return _old(found)
    version = _one_of(found, "version", VERSIONS)
    servers = _list(found, "server_list", "server_list")
    _count(found, "server_count", len(servers))
    pods = _pods(found, version)
    members: list[Member] = []
    names: set[str] = set()
    for number, server in enumerate(servers):
        where = f"server_list[{number}]"
        name = _text(server, "server_id", where)
        if len(name) > MOST_ID:
            raise BadTable("EI0014", f"{where}.server_id", name, f"at most {MOST_ID} characters")
        if name in names:
            raise BadTable("EI0014", f"{where}.server_id", name, "an id no other server has")
        names.add(name)
        if pods and name not in pods:
            raise BadTable("EI0014", f"{where}.server_id", name, "a server that super_pod_list names")
        needs_ip = len(servers) > 1 or family not in NO_IP
        for place, device in enumerate(_list(server, "device", f"{where}.device")):
            at = f"{where}.device[{place}]"
            members.append(_member(device, at, number, name, pods.get(name, number), needs_ip, bool(pods)))
    return RankTable(version, _checked(members))


def _member(device: Any, at: str, server: int, name: str, pod: int, needs_ip: bool, in_pod: bool) -> Member:
    number = _number(device, "device_id", at)
    ip = _text(device, "device_ip", at) if needs_ip else str(device.get("device_ip", "")) if isinstance(device, dict) else ""
    if ip:
        try:
            ipaddress.ip_address(ip)
        except ValueError:
            raise BadTable("EI0014", f"{at}.device_ip", ip, "an IP address") from None
    port = _number(device, "device_port", at) if "device_port" in device else PORT
    if not 1 <= port <= 65535:
        raise BadTable("EI0014", f"{at}.device_port", port, "1 to 65535")
    above = _text(device, "super_device_id", at, "EI0004") if in_pod else ""
    return Member(_number(device, "rank_id", at), server, name, number, ip, port, above, pod)


def _checked(members: list[Member]) -> tuple[Member, ...]:
    """In order of rank. Ranks count from 0 without gaps, a server's stand together, devices and addresses are one's own."""
    members.sort()
    if not members:
        raise BadTable("EI0014", "server_list", [], "at least one device")
    for expected, member in enumerate(members):
        if member.rank != expected:
            raise BadTable("EI0014", "rank_id", member.rank, f"{expected}: ranks count from 0, each once")
    left: set[int] = set()
    for before, after in zip([members[0], *members], members, strict=False):
        if before.server != after.server:
            left.add(before.server)
        if after.server in left:
            raise BadTable("EI0014", "rank_id", after.rank, f"the ranks of server {after.server_id} one after the other")
    for field, expected_text in (("device", "a device_id no other rank of the server has"),
                                 ("device_ip", "an address no other rank has"),
                                 ("super_device", "a super_device_id no other rank of the pod has")):  # fmt: skip
        seen: set[tuple[object, ...]] = set()
        for m in members:
            value = getattr(m, field)
            whose = m.server if field == "device" else m.pod if field == "super_device" else 0
            if value != "" and (whose, value) in seen:
                name = {"device": "device_id", "super_device": "super_device_id"}.get(field, field)
                raise BadTable("EI0014", f"{name} of rank {m.rank}", value, expected_text)
            seen.add((whose, value))
    return tuple(members)


def _pods(found: dict[str, Any], version: str) -> dict[str, int]:
    """server_id -> number of its super-pod; empty without a list."""
    if "super_pod_list" not in found:
        return {}
    if version != "1.2":
        raise BadTable("EI0014", "version", version, "1.2, the version that has super_pod_list")
    made: dict[str, int] = {}
    for number, pod in enumerate(_list(found, "super_pod_list", "super_pod_list")):
        where = f"super_pod_list[{number}]"
        _text(pod, "super_pod_id", where)
        for place, server in enumerate(_list(pod, "server_list", f"{where}.server_list")):
            made[_text(server, "server_id", f"{where}.server_list[{place}]")] = number
    return made


def _old(found: dict[str, Any]) -> RankTable:
    """The first template: group_list[{device_count, instance_list[{rank_id, server_id, devices[{device_id, device_ip}]}]}]."""
    groups = _list(found, "group_list", "group_list")
    _count(found, "group_count", len(groups))
    members: list[Member] = []
    servers: dict[str, int] = {}
    for number, group in enumerate(groups):
        for place, instance in enumerate(_list(group, "instance_list", f"group_list[{number}].instance_list")):
            at = f"group_list[{number}].instance_list[{place}]"
            name = _text(instance, "server_id", at)
            server = servers.setdefault(name, len(servers))
            for device in _list(instance, "devices", f"{at}.devices"):
                rank = _number(instance, "rank_id", at)
                ip = str(device.get("device_ip", "")) if isinstance(device, dict) else ""
                members.append(Member(rank, server, name, _number(device, "device_id", f"{at}.devices"), ip, PORT, "", server))
    return RankTable("old", _checked(members))


def _field(holder: Any, name: str, at: str, missing: str = "EI0017") -> Any:
    if not isinstance(holder, dict):
        raise BadTable("EI0014", at, holder, "an object")
    if name not in holder:
        raise BadTable(missing, f"{at}.{name}" if at else name, None, "this field")
    return holder[name]


def _text(holder: Any, name: str, at: str, empty: str = "EI0014") -> str:
    value = _field(holder, name, at, empty if empty != "EI0014" else "EI0017")
    if not isinstance(value, str) or not value:
        raise BadTable(empty, f"{at}.{name}", value, "a text that is not empty")
    return value


def _number(holder: Any, name: str, at: str) -> int:
    value = _field(holder, name, at)
    if not isinstance(value, str) or not value.isdigit():
        raise BadTable("EI0014", f"{at}.{name}" if at else name, value, "a number written as a text")
    return int(value)


def _count(holder: dict[str, Any], name: str, wanted: int) -> None:
    if name in holder and _number(holder, name, "") != wanted:
        raise BadTable("EI0014", name, holder[name], f"{wanted}, as many as are listed")


def _one_of(holder: dict[str, Any], name: str, known: tuple[str, ...]) -> str:
    value = _field(holder, name, "")
    if value not in known:
        raise BadTable("EI0014", name, value, " or ".join(known))
    return str(value)


def _list(holder: Any, name: str, at: str) -> list[Any]:
    value = _field(holder, name, at.rpartition(".")[0])
    if not isinstance(value, list):
        raise BadTable("EI0014", at, value, "a list")
    return value
