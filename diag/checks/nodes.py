"""Device nodes: there, and usable by the account that asks."""

from __future__ import annotations

from collections.abc import Iterator

from diag.seen import Seen
from diag.verdict import ERROR, INFO, Verdict
from npu.host import access
from npu.host.access import GROUP, NODES


def complete(seen: Seen) -> Iterator[Verdict]:
    """No device at all, or one of the three control nodes missing. A listing of davinci* alone says nothing of the others."""
    nodes = seen.host.nodes or ()
    names = {n.name for n in nodes}
    container = bool(seen.host.container)
    if not access.ids(nodes):
        driver_gone = seen.host.found is not None and not seen.host.found.drivers
        if not names and driver_gone:
            return  # the missing driver is told already, and nodes come with it
        yield Verdict("no_device_node_in_container" if container else "no_device_node", ERROR, {}, ("ls /dev/davinci*",))
        return
    missing = [n for n in NODES if n not in names]
    if (missing and names & (set(NODES) - {"davinci_manager"})) or (missing and seen.host.simulated is not None):
        yield Verdict(
            "control_node_missing",
            ERROR,
            {"names": ", ".join(f"/dev/{n}" for n in missing), "options": " ".join(f"--device=/dev/{n}" for n in missing)},
            ("ls /dev",),
        )


def rights(seen: Seen) -> Iterator[Verdict]:
    """Whether the account may read and write every node."""
    account = seen.host.account
    if account is None:
        return
    closed = [n for n in seen.host.nodes or () if access.may_open(n, account) is False]
    if closed:
        first = closed[0]
        yield Verdict(
            "no_right_on_node",
            ERROR,
            {
                "names": ", ".join(f"/dev/{n.name}" for n in closed),
                "uid": account.uid,
                "gid": account.gid if account.gid is not None else "?",
                "user": account.name or f"uid {account.uid}",
                "owner": first.owner,
                "group": first.group or GROUP,
                "mode": first.mode,
            },
            ("ls -l /dev/davinci*", "id"),
        )


def account(seen: Seen) -> Iterator[Verdict]:
    """The uid has an entry in /etc/passwd; root needs none of this."""
    known = seen.host.account
    unknown = list(dict.fromkeys([*([known.uid] if known is not None and known.name == "" else []), *seen.unresolved]))
    if known is not None and known.name == "" and known.uid == 0:
        return
    if unknown:
        numbers = ", ".join(map(str, unknown))
        gid = known.gid if known is not None and known.gid is not None else unknown[0]
        yield Verdict("uid_without_entry", ERROR, {"uid": numbers, "first": unknown[0], "gid": gid}, ("id", "/etc/passwd"))
    elif known is not None and known.uid and seen.host.nodes is None and GROUP not in known.groups and known.groups:
        yield Verdict("not_in_group", INFO, {"user": known.name or f"uid {known.uid}", "group": GROUP}, ("id",))
