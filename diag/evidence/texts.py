"""What a piece of text says of a host: one reader for each kind of text, in an explicit list.

A reader sees a command ("" when it is not known) and its output and gives what it understood, or None. Readers recognise by
content, so that a file without a name and a session without prompts are read as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from diag import smi_text
from diag.evidence import network, nodes, packages, system
from diag.evidence.transcript import Answer, answers
from diag.seen import Loading, Seen
from npu.host.env import places
from npu.host.host import Host
from npu.host.libs import Library
from npu.host.parts import Found
from npu.host.read import env_of, model_of
from npu.host.tree import driver_of, firmware_of, install_of
from npu.host.versions import version_cfg

SOURCE = "text"
ENV_LINE = re.compile(r"^\s*(?:export |declare -x )?(?P<name>[A-Z][A-Z0-9_]{2,})=(?P<value>.*)$")
OURS = re.compile(
    r"^(ASCEND|CUDA_VISIBLE|ACL|HCCL|LD_LIBRARY_PATH|PYTHONPATH|PATH$|NPU|TASK_QUEUE|TORCH|PYTORCH|CPU_AFFINITY|DEVICE_ID|MULTI_STREAM|"
    r"INF_NAN|P2P_|RANK|HOME$|TOOLCHAIN|VLLM|OMP_)"
)
ECHOED = re.compile(r"^(?:echo|printenv)\s+[\"']?\$?\{?(?P<name>[A-Z][A-Z0-9_]+)\}?[\"']?\s*$")
FILE_HEAD = re.compile(r"^(?:==> (?P<a>\S+) <==|#+ (?P<b>/\S+\.(?:info|cfg|conf))|(?P<c>/\S+\.(?:info|cfg)):?)\s*$", re.MULTILINE)


def environment(command: str, output: str) -> Seen | None:
    """Lines KEY=VALUE of `env`, `export`, a shell file or a collector, and `echo $NAME` with its answer."""
    echoed = ECHOED.match(command)
    if echoed:
        env = {echoed["name"]: next((line.strip() for line in output.splitlines() if line.strip()), "")}
    else:
        lines = [command, *output.splitlines()] if command.startswith("export ") else output.splitlines()
        found = [line for line in lines if (m := ENV_LINE.match(line)) and OURS.match(m["name"])]
        env = env_of("\n".join(found)) if found else {}
    return Seen(Host(SOURCE, env=env)) if env else None


def version_files(command: str, output: str) -> Seen | None:
    """Contents of version.info, version.cfg and ascend_*_install.info, told apart by the keys only each has."""
    path = next((word for word in command.split() if word.startswith("/")), "")
    found = Found()
    for file, text in _files(path, output):
        found = _with_file(found, file, text)
    return Seen(Host(SOURCE, found=found)) if found != Found() else None


def _files(path: str, output: str) -> Iterable[tuple[str, str]]:
    heads = list(FILE_HEAD.finditer(output))
    if not heads:
        yield path, output
        return
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        yield head["a"] or head["b"] or head["c"], output[head.end() : after.start() if after else len(output)]


def _with_file(found: Found, file: str, text: str) -> Found:
    low = text.lower()
    driver = driver_of(text, "", file) if "ascendhal_version" in low or "driver/version.info" in file else None
    firmware = firmware_of(text, "", file) if "firmware_version" in low or "firmware/version.info" in file else None
    install = install_of(text, file) if "package_name=ascend-cann-" in low.replace(" ", "") else None
    cfg = version_cfg(text) if re.search(r"^\w+_(running|installed)_version\s*=", low, re.MULTILINE) else {}
    return Found(
        found.drivers or ((driver,) if driver else ()),
        found.firmware or ((firmware,) if firmware else ()),
        (*found.installs, *((install,) if install else ())),
        (),
        {**found.cfg, **({file: cfg} if cfg else {})},
    )


ABSENT = re.compile(
    r"(?:(?P<by>[\w./+-]+): )?error while loading shared libraries: (?P<lib>[\w.+-]+\.so[\w.]*): cannot open shared object"
    r"|(?P<lib2>[\w./+-]+\.so[\w.]*): cannot open shared object file"
)
NOT_FOUND = re.compile(r"^\s*(?P<lib>[\w.+-]+\.so[\w.]*) => not found", re.MULTILINE)
SYMBOL = re.compile(
    r"(?:(?P<by>[\w./+-]+\.so[\w.]*|[\w./+-]+): )?undefined symbol: (?P<symbol>\w+)"
    r"|undefined reference to [`'\"](?P<symbol2>\w+)"
)
TOO_OLD = re.compile(
    r"(?P<lib>[\w./+-]+\.so[\w.]*): version [`'](?P<version>[\w.]+)' not found(?: \(required by (?P<by>[^)]+)\))?"
)
MAPPED = re.compile(r"^\s*(?P<lib>lib(?:ascend|runtime|acl|hccl|ge_)\w*\.so[\w.]*) => (?P<path>/\S+)", re.MULTILINE)


def loader(command: str, output: str) -> Seen | None:
    """Messages of the loader and the linker, and `ldd`."""
    by = command.split()[-1] if command.startswith("ldd ") else ""
    found = [Loading("absent", (m["lib"] or m["lib2"]).rpartition("/")[2], m["by"] or "") for m in ABSENT.finditer(output)]
    found += [Loading("absent", m["lib"], by) for m in NOT_FOUND.finditer(output)]
    found += [Loading("symbol", m["symbol"] or m["symbol2"], m["by"] or "") for m in SYMBOL.finditer(output)]
    found += [
        Loading("version", f"{m['version']} in {m['lib'].rpartition('/')[2]}", m["by"] or "") for m in TOO_OLD.finditer(output)
    ]
    mapped = tuple(_mapped(m["lib"], m["path"]) for m in MAPPED.finditer(output))
    if not found and not mapped:
        return None
    return Seen(Host(SOURCE, libraries=mapped or None), loading=tuple(dict.fromkeys(found)))


def _mapped(name: str, path: str) -> Library:
    folder = path.rpartition("/")[0]
    stub = "/stub" in folder or "/devlib" in folder
    kind, version = (
        places({"ASCEND_HOME_PATH": folder}, None, None)[0].kind,
        places({"ASCEND_HOME_PATH": folder}, None, None)[0].version,
    )
    return Library(name, 0, folder, f"{kind} {version}".strip() if version else kind, stub)


def note(command: str, output: str) -> Seen | None:
    """A JSON note of a model."""
    made = model_of(output, command) if output.lstrip().startswith("{") else None
    return Seen(Host(SOURCE, models=(made,))) if made is not None else None


Reader = Callable[[str, str], Seen | None]
READERS: tuple[Reader, ...] = (
    environment,
    version_files,
    loader,
    note,
    packages.python,
    packages.installed,
    nodes.listing,
    nodes.identity,
    nodes.passwd,
    system.limits,
    system.shared_memory,
    system.disks,
    system.pci,
    system.pci_links,
    system.modules,
    system.started,
    system.container,
    network.ports,
)


def read(text: str, command: str = "") -> list[Seen]:
    """Everything the readers understood of a text; empty when it says nothing of a host."""
    parts = [Answer(command, text)] if command else answers(text)
    found = [made for part in parts for reader in READERS if (made := reader(part.command, part.output)) is not None]
    tool = smi_text.parse(text)  # of the whole session: it also looks at what was asked around the tool
    return [*found, *([Seen(Host(SOURCE), smi=tool)] if tool.kind else [])]
