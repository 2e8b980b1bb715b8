"""Who may use the devices: the device nodes, the account that asks, and the groups that link the two."""

from __future__ import annotations

import grp
import os
import pwd
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass

NODES = ("davinci_manager", "devmm_svm", "hisi_hdc")  # beside davinci<N>; every host and container needs all three
DEVICE = re.compile(r"davinci(\d{1,3})")
GROUP = "HwHiAiUser"


@dataclass(frozen=True, slots=True)
class Node:
    """A device node. mode: the nine rights as `rw-rw----`, "" when only its name is known; usable: may this account open it,
    None where only the rights can tell."""

    name: str
    mode: str = ""
    owner: str = ""
    group: str = ""
    usable: bool | None = None


@dataclass(frozen=True, slots=True)
class Account:
    """name: "" when the uid has no entry in /etc/passwd, None when that is not known. groups: names or numbers."""

    uid: int
    gid: int | None = None
    name: str | None = None
    groups: tuple[str, ...] = ()


def nodes_here(folder: str = "/dev") -> tuple[Node, ...]:
    """The device nodes of this machine, each tried for reading and writing without opening it."""
    made = []
    for name in sorted(os.listdir(folder)):
        if DEVICE.fullmatch(name) or name in NODES:
            path = os.path.join(folder, name)
            status = os.stat(path)
            usable = os.access(path, os.R_OK | os.W_OK)
            made.append(Node(name, stat.filemode(status.st_mode)[1:], _user(status.st_uid), _group(status.st_gid), usable))
    return tuple(made)


def account_here() -> Account:
    """The account of this process."""
    uid = os.getuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = ""
    return Account(uid, os.getgid(), name, tuple(_group(g) for g in os.getgroups()))


def may_open(node: Node, account: Account) -> bool | None:
    """Whether the account may read and write the node; None when its rights are not known."""
    if node.usable is not None:
        return node.usable
    if len(node.mode) != 9:
        return None
    if account.uid == 0:
        return True
    if node.owner in (account.name or "", str(account.uid)):
        return node.mode[0:2] == "rw"
    if node.group in account.groups or (account.gid is not None and node.group == str(account.gid)):
        return node.mode[3:5] == "rw"
    return node.mode[6:8] == "rw"


def ids(nodes: Iterable[Node]) -> tuple[int, ...]:
    """Numbers of the devices among the nodes."""
    return tuple(sorted(int(m[1]) for n in nodes if (m := DEVICE.fullmatch(n.name))))


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _group(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
