"""The system around the devices: limits, shared memory, PCI, kernel modules, how a container was started."""

from __future__ import annotations

import re
import shlex

from diag.seen import Seen, SlowLink, Started
from npu.host.host import Host
from npu.host.limits import Limits, number, of_ulimit
from npu.units import parse_size

SOURCE = "text"
DF = re.compile(r"^\S+\s+(?P<size>[\d.]+[KMGT]?i?)\s+(?P<used>[\d.]+[KMGT]?i?)\s+\S+\s+\d+%\s+/dev/shm\s*$", re.MULTILINE)
FULL_DISK = re.compile(
    r"^(?!/dev/loop|squashfs|tmpfs|devtmpfs|shm)\S+\s+\S+\s+\S+\s+0[KMGT]?\s+100%\s+(?P<mount>/\S*)\s*$", re.MULTILINE
)
PCI = re.compile(r"^(?P<address>[0-9a-fA-F:.]{7,12}) .*(?:Huawei|19e5).*\(rev ff\)", re.MULTILINE)
CARD = re.compile(r"^(?:[0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d .*(?:Huawei|19e5).*$", re.MULTILINE)
ANY_CARD = re.compile(r"^(?:[0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d ", re.MULTILINE)
LINK = re.compile(r"\bLnk(?P<what>Cap|Sta):.*?Speed (?P<speed>[\d.]+)GT/s.*?Width x(?P<width>\d+)")
MODULE = re.compile(r"^(?:drv_|ascend|davinci|devdrv|hisi_)\w*\s+\d+", re.MULTILINE)
RUN = re.compile(r"^(?:sudo\s+)?(?:docker|podman|nerdctl|ctr)\s+(?:container\s+)?(?:run|create)\b")


def limits(command: str, output: str) -> Seen | None:
    """`ulimit -a`, `ulimit -n`, `ulimit -u`."""
    first = next((line for line in output.splitlines() if line.strip()), "")
    match = re.fullmatch(r"ulimit\s+-(?:S|H)?(?P<what>[nu])", command)
    if match:
        value = number(first)
        made = Limits(files=value) if match["what"] == "n" else Limits(processes=value)
        return Seen(Host(SOURCE, limits=made)) if value is not None else None
    found = of_ulimit(output)
    return Seen(Host(SOURCE, limits=found)) if found is not None else None


def shared_memory(command: str, output: str) -> Seen | None:
    """The /dev/shm line of `df`; without a unit df counts KiB."""
    match = DF.search(output)
    if match is None:
        return None
    size, used = (_kib(match[n]) for n in ("size", "used"))
    return Seen(Host(SOURCE, limits=Limits(shm=size, shm_used=used)))


def disks(command: str, output: str) -> Seen | None:
    """`df`: file systems without room; those that are full by nature (images, memory) are left out."""
    found = tuple(m["mount"] for m in FULL_DISK.finditer(output) if not m["mount"].startswith(("/dev", "/snap", "/proc", "/sys")))
    return Seen(Host(SOURCE), full_disks=found) if found else None


def _kib(text: str) -> int:
    return int(float(text) * 1024) if text[-1].isdigit() and text != "0" else parse_size(text)


def pci(command: str, output: str) -> Seen | None:
    """`lspci`: revision ff = the configuration space answers nothing."""
    found = tuple(m["address"] for m in PCI.finditer(output))
    return Seen(Host(SOURCE), fell_off=found) if found else None


def pci_links(command: str, output: str) -> Seen | None:
    """`lspci -vv`: cards of the vendor whose link status stays below its capability."""
    found = []
    for card in CARD.finditer(output):
        following = ANY_CARD.search(output, card.end())
        told = {m["what"]: m for m in LINK.finditer(output[card.end() : following.start() if following else None])}
        if len(told) == 2:
            (now, lanes), (most, wide) = ((float(told[k]["speed"]), int(told[k]["width"])) for k in ("Sta", "Cap"))
            if now * lanes < most * wide:
                found.append(SlowLink(card[0].split()[0], now, lanes, most, wide))
    return Seen(Host(SOURCE), slow_links=tuple(found)) if found else None


def modules(command: str, output: str) -> Seen | None:
    """`lsmod`, whole or filtered: whether modules of the driver are loaded."""
    if not command.startswith("lsmod"):
        return None
    return Seen(Host(SOURCE), modules=MODULE.search(output) is not None)


def started(command: str, output: str) -> Seen | None:
    """`docker run` and its kin, also inside a text without prompts; lines ending in a backslash are joined."""
    joined = re.sub(r"\\\s*\n", " ", f"{command}\n{output}")
    line = next((text.strip() for text in joined.splitlines() if RUN.match(text.strip())), "")
    if not line:
        return None
    try:
        words = shlex.split(line, comments=True)
    except ValueError:  # a quote that is never closed: the command was cut
        words = line.split()
    options = _options(words)
    given = [v for n, v in options if n == "--device"]
    mounts = [v.partition(":")[0] for n, v in options if n in ("-v", "--volume")]
    environ = [v for n, v in options if n in ("-e", "--env")]
    runtime = any(n == "--runtime" and v == "ascend" for n, v in options) or any(
        e.startswith("ASCEND_VISIBLE_DEVICES=") for e in environ
    )
    shm = next((v for n, v in options if n == "--shm-size"), "")
    visible = {k: v for k, _, v in (e.partition("=") for e in environ) if k == "ASCEND_RT_VISIBLE_DEVICES" and v}
    made = Started(tuple(given), tuple(mounts), "--privileged" in words, runtime, shm)
    return Seen(Host(SOURCE, container=True, env=visible or None), started=made)


def _options(words: list[str]) -> list[tuple[str, str]]:
    made = []
    for at, word in enumerate(words):
        name, sign, value = word.partition("=")
        if word.startswith("-"):
            made.append((name, value if sign else words[at + 1] if at + 1 < len(words) else ""))
    return made


def container(command: str, output: str) -> Seen | None:
    """Signs of a container: its files, its control group, or a command that went into one."""
    into = re.match(r"(?:sudo\s+)?(?:docker exec|kubectl exec|crictl exec)\b", command)
    group = "/proc/1/cgroup" in command and any(word in output for word in ("docker", "kubepods", "containerd"))
    return Seen(Host(SOURCE, container=True)) if into or group or ".dockerenv" in output else None
