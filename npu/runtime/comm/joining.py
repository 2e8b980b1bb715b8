"""How a communicator comes to be: from root information, for several devices at once, from a rank table, out of another one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from npu.errors import NpuError
from npu.hccl.topology import Topology
from npu.runtime.comm import meeting, settings
from npu.runtime.comm.communicator import Communicator, Group, Groups, World
from npu.runtime.comm.meeting import Member
from npu.runtime.comm.settings import Settings
from npu.runtime.context import Context, current
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

DEFAULT_NAME = "hccl_world_group"
MOST_NAME = 127
CONFIG = ("hcclBufferSize", "hcclDeterministic", "hcclCommName", "hcclUdi", "hcclOpExpansionMode", "hcclRdmaTrafficClass",
          "hcclRdmaServiceLevel", "hcclWorldRankID", "hcclJobID", "aclGraphZeroCopyEnable")  # fmt: skip


def join(process: Process, thread: HostThread, folder: Path, rank: int, ranks: int, name: str, config: Settings,
         world: Sequence[int] = ()) -> Communicator:  # fmt: skip
    """Meet the others at a folder. NpuError hccl_param for a rank that cannot be, and what meeting.meet refuses."""
    if not 0 <= rank < ranks:
        raise NpuError("hccl_param", op="HcclCommInit", parameter="rank", value=rank, expected=f"0 to {ranks - 1}")
    context = current(thread)
    me = meeting.myself(process, thread, rank, context.dev.device)
    members = meeting.meet(process, thread, folder, me, ranks, config.connect)
    return admit(process, thread, context, folder, members, rank, name, config, world=world)


def admit(process: Process, thread: HostThread, context: Context, folder: Path, members: list[Member], rank: int, name: str,
          config: Settings, topology: Topology | None = None, world: Sequence[int] = ()) -> Communicator:  # fmt: skip
    """A communicator for ranks that have met."""
    known = process.one(Groups)
    key = f"{folder} {members[0].pid} {members[0].start} {name}"
    group = known.get(key)
    if group is None or rank in group.owners:
        net = topology or Topology(process.machine.chip.family, tuple((m.server, m.device) for m in members))
        slow = Topology(net.family, net.places, net.servers_per_pod, config.slow_links, config.slow_ranks)
        group = known[key] = Group(folder, members, slow)
    made = Communicator(process, thread, context, group, rank, name, config, world)
    _tell(process, made)
    return made


def _tell(process: Process, made: Communicator) -> None:
    """Ranks of this process in its largest communicator: what the files of a profile call its rank; and the ranks of each."""
    world = process.one(World)
    if made.name not in world.groups:
        world.groups[made.name] = {"group_name": made.name, "group_rank": made.rank, "global_ranks": list(made.world)}
        process.recording.sink.meta(groups=dict(world.groups))
    if made.size > world.size:
        world.size, world.ranks, world.folder = made.size, [], made.group.folder
    if made.size == world.size and made.group.folder == world.folder:
        world.ranks = sorted({*world.ranks, made.rank})
        process.recording.sink.meta(rank=world.ranks[0], ranks=world.ranks, world_size=made.size, group=made.name)


def configured(base: Settings, config: Mapping[str, object]) -> tuple[Settings, str]:
    """Settings and name after an HcclCommConfig. NpuError hccl_param names a field that is unknown or out of range."""
    for field in config:
        if field not in CONFIG:
            raise NpuError("hccl_param", op="HcclCommConfig", parameter=field, value=config[field],
                           expected=f"one of {', '.join(CONFIG)}")  # fmt: skip
    size, name = config.get("hcclBufferSize", base.buffer >> 20), config.get("hcclCommName", "")
    if not isinstance(size, int) or size < 1:
        raise NpuError("hccl_param", op="HcclCommConfig", parameter="hcclBufferSize", value=size, expected="at least 1 (MB)")
    if not isinstance(name, str) or len(name) > MOST_NAME:
        raise NpuError("hccl_param", op="HcclCommConfig", parameter="hcclCommName", value=name,
                       expected=f"a text of at most {MOST_NAME} characters")  # fmt: skip
    return Settings(base.connect, base.execute, size << 20, base.algo, base.port, base.slow_links, base.slow_ranks), name


def init_root(process: Process, thread: HostThread, ranks: int, info: object, rank: int, config: Mapping[str, object],
              world: Sequence[int] = ()) -> int:  # fmt: skip
    """Handle of the communicator of those who hold the same root information."""
    base, name = configured(settings.read(process.machine.chip.family), config)
    folder = meeting.folder_of(info)
    return join(process, thread, folder, rank, ranks, name or _default_name(folder, base), base, world).handle


def _default_name(folder: Path, config: Settings) -> str:
    """As profiles show it: address, port, number, moment; made of the folder's name, so that all ranks agree."""
    moment = int(hashlib.sha256(folder.name.encode()).hexdigest()[:12], 16) % 10**16
    return f"127.0.0.1%lo_{config.port}_0_{moment:016}"


def init_all(process: Process, thread: HostThread, devices: list[int]) -> list[int]:
    """One communicator for each device, all driven by this thread (or handed to others)."""
    from npu.runtime import context

    if not devices or len(set(devices)) < len(devices):
        raise NpuError("hccl_param", op="HcclCommInitAll", parameter="devices", value=devices, expected="devices, each once")
    before = thread.context
    base = settings.read(process.machine.chip.family)
    folder = meeting.folder_of(meeting.root_info())
    contexts = []
    for device in devices:
        context.set_device(process, thread, device)
        contexts.append(current(thread))
    members = [meeting.myself(process, thread, rank, c.dev.device) for rank, c in enumerate(contexts)]
    thread.context = before
    name = _default_name(folder, base)
    return [admit(process, thread, c, folder, members, rank, name, base).handle for rank, c in enumerate(contexts)]


def init_table(process: Process, thread: HostThread, path: str, rank: int, config: Mapping[str, object]) -> int:
    """By rank table file. NpuError hccl_ranktable_file, hccl_ranktable, hccl_ranktable_field."""
    from npu.hccl.ranktable import BadTable, read

    situations = {"EI0004": "hccl_ranktable_file", "EI0014": "hccl_ranktable", "EI0017": "hccl_ranktable_field"}
    base, name = configured(settings.read(process.machine.chip.family), config)
    try:
        table = read(path, process.machine.chip.family)
    except BadTable as error:
        raise NpuError(
            situations[error.code], path=path, field=error.field, value=error.value, expected=error.expected
        ) from error
    ranks = len(table.members)
    if not 0 <= rank < ranks:
        raise NpuError("hccl_ranktable", path=path, field="rank", value=rank, expected=f"0 to {ranks - 1}, as the table lists")
    context = current(thread)
    mine = table.members[rank]
    if mine.device != context.dev.device:
        raise NpuError("hccl_ranktable", path=path, field=f"device_id of rank {rank}", value=mine.device,
                       expected=f"the device this process has set ({context.dev.device})")  # fmt: skip
    folder = meeting.named_folder(f"{table} {name}")
    me = meeting.myself(process, thread, rank, mine.device)._replace(server=mine.server)
    members = meeting.meet(process, thread, folder, me, ranks, base.connect)
    topology = table.topology(process.machine.chip.family)
    return admit(process, thread, context, folder, members, rank, name or DEFAULT_NAME, base, topology).handle


def split(process: Process, thread: HostThread, parent: Communicator, ranks: list[int], number: int, rank: int,
          config: Mapping[str, object]) -> int:  # fmt: skip
    """A sub-communicator of some of the parent's ranks, met by all of them."""
    if len(set(ranks)) < len(ranks) or not all(0 <= r < parent.size for r in ranks) or not ranks:
        raise NpuError("hccl_param", op="HcclCreateSubCommConfig", parameter="rankIds", value=ranks,
                       expected=f"ranks of 0 to {parent.size - 1}, each once")  # fmt: skip
    if not 0 <= rank < len(ranks) or ranks[rank] != parent.rank:
        raise NpuError("hccl_param", op="HcclCreateSubCommConfig", parameter="subCommRankId", value=rank,
                       expected=f"the place of rank {parent.rank} in rankIds")  # fmt: skip
    made, name = configured(parent.settings, config)
    folder = parent.group.folder / f"sub-{number}-{'-'.join(map(str, sorted(ranks)))}"
    world = [parent.world[r] for r in ranks]
    return join(process, thread, folder, rank, len(ranks), name or f"{parent.name}_sub_{number}", made, world).handle
