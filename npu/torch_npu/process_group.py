"""A process group of the backend hccl without its operations: what torch asks of a group, and how an operation or a message goes
out.

Data goes from rank to rank at the call (npu.runtime.comm.early) and stands in the tensors once somebody waits; when the operation
takes place on the device is the business of its task, whose end the exchange between the ranks decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from npu.runtime import process as processes
from npu.runtime.clock import real_sleep
from npu.runtime.comm import timed
from npu.runtime.comm.board import Data
from npu.runtime.comm.call import Call
from npu.runtime.process import Process
from npu.runtime.stream import Stream
from npu.runtime.thread import HostThread
from npu.torch_npu import collective_data as data
from npu.torch_npu import launch, memory, place, waiting
from npu.torch_npu.channel import ALL, Channel, Lane, table
from npu.torch_npu.collective_work import Pending, Work
from npu.torch_npu.copies import MOVE

BACKEND = "hccl"
ROOT = "hccl_root_info"  # key in the store
POLL = 0.002  # s between looks for rank 0


class Group(dist.ProcessGroup):
    """The calling rank's view of a group. world: its ranks as the whole job counts them."""

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta, world: Sequence[int]) -> None:
        super().__init__(rank, size)
        self._store, self._timeout, self._world = store, timeout, tuple(world)
        self._channel: Channel | None = None
        self._gloo: Any = None

    def getBackendName(self) -> str:
        return BACKEND

    def name(self) -> str:
        return BACKEND

    @property
    def _device_types(self) -> list[torch.device]:
        return [torch.device("npu")]

    def _get_backend(self, device: Any) -> Group:
        return self

    @property
    def supports_splitting(self) -> bool:
        return False

    def get_hccl_comm_name(self, rank: int, init_comm: bool = True) -> str:
        """The name operators that communicate themselves know the group by."""
        with place.inside() as (process, thread):
            return self._open(process, thread, place.seats.mine.device).comm.name

    def _set_group_name(self, name: str) -> None:
        self.__dict__["_name"] = name

    def _set_group_desc(self, text: str) -> None:
        self.__dict__["_desc"] = text

    @property
    def group_name(self) -> str:
        return str(self.__dict__.get("_name", ""))

    @property
    def group_desc(self) -> str:
        return str(self.__dict__.get("_desc", "undefined"))

    def set_timeout(self, timeout: timedelta) -> None:
        self._timeout = timeout

    def _set_sequence_number_for_group(self) -> None:
        return None

    def _get_sequence_number_for_group(self) -> int:
        return 0 if self._channel is None else self._channel.early.sent

    def shutdown(self) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            with place.inside() as (process, thread):
                channel.close(process, thread)

    abort = shutdown

    def _collective(
        self, method: str, tensor: Tensor, count: int, facts: dict[str, Any], sent: Data, results: Any,
        finish: Callable[[data.Notes], None] | None, split: list[int] | None = None, before: Sequence[Tensor] = (),
        after: Sequence[Tensor] = (), blocks: bool = False,
    ) -> Work:  # fmt: skip
        """One operation of all ranks. count: elements of a rank's part; finish: makes the results of all ranks' data; split:
        elements to each rank, where they differ; before, after: tensors that are moved into one, or out of it."""
        what = table()[method]
        dtype = data.number(tensor.dtype)
        with place.inside() as (process, thread):
            channel = self._open(process, thread, self._device(process, [tensor, *before, *after]))
            told = {"op": what.op, "dataType": dtype, "count": 0 if split else count, **facts}
            number = channel.early.give(told, sent)
            self._moved(process, thread, place.stream(process, thread, channel.device), before)

            def body(call: Call) -> None:
                if split is None:
                    timed.collective(call, count, facts, facts.get("root", 0))
                else:
                    timed.exchange(call, split)

            behind = partial(self._moved, process, thread, tensors=after)
            event = channel.queue(process, thread, what, dtype, body, behind=behind)

            def over(process: Process, thread: HostThread) -> None:
                notes = channel.early.take(process, number, told, partial(self._lost, process, thread, channel, ALL))
                if finish is not None:
                    finish(notes)

            return self._work(process, channel, what.api, event, results, over, blocks)

    def _work(
        self, process: Process, channel: Channel, api: str, event: Any, results: Any, finish: Any, blocks: bool = False,
        source: int = -1,
    ) -> Work:  # fmt: skip
        made = Work(channel, api, event, results, finish, blocks, source)
        process.one(Pending).works[id(made)] = made
        return made

    def _moved(self, process: Process, thread: HostThread, where: Stream, tensors: Sequence[Tensor]) -> None:
        """Copies between a list of tensors and the one buffer of the operation."""
        for tensor in tensors:
            launch.launch(process, thread, where, MOVE, "aten::copy_", False, (tensor,), (tensor,), thread.clock.now)

    def _device(self, process: Process, tensors: Sequence[Tensor]) -> int:
        if any(t.is_cpu for t in tensors):
            raise RuntimeError("ProcessGroupHCCL: all tensors of an operation must be npu tensors")
        return memory.device_of(process, tensors[0])

    def _open(self, process: Process, thread: HostThread, device: int) -> Channel:
        """The channel, made at the first operation. RuntimeError for a second device in one group."""
        found = self._channel
        if found is None:
            found = self._channel = Channel(process, thread, device, self.rank(), self._world, self._root_info)
        if found.device != device:
            raise RuntimeError(
                f"ProcessGroupHCCL: this rank has npu:{found.device} in the group, and the tensor is on npu:{device}; "
                "call torch.npu.set_device(local_rank) before the first tensor is made"
            )
        return found

    def _root_info(self, make: Callable[[], bytes], idle: Callable[[], None]) -> bytes:
        """From rank 0 over the group's store."""
        if self.rank() == 0:
            found = make()
            self._store.set(ROOT, found)
            return found
        waited = 0.0
        while not self._store.check([ROOT]):
            if waited > processes.current().knobs.patience:
                raise RuntimeError("ProcessGroupHCCL: rank 0 of the group did not come to the first operation; every rank of a "
                                   "group takes part in each operation")  # fmt: skip
            idle()
            real_sleep(POLL)
            waited += POLL
        return bytes(self._store.get(ROOT))

    def _lost(self, process: Process, thread: HostThread, channel: Channel, lane: Lane, rank: int) -> None:
        """A rank will not come: the operation ends on the device with the library's error, which is raised."""
        waiting.synchronize(process, thread, channel.stream(process, thread, lane))
        name = channel.comm.name
        raise RuntimeError(f"ProcessGroupHCCL: rank {rank} of group {name} has not come; look at its own output first")

    def _on_cpu(self) -> Any:
        """Where CPU tensors go: to gloo, if the group was asked for it."""
        if self._gloo is None:
            config = str(dist.distributed_c10d._world.pg_backend_config.get(self, ""))
            if "cpu:gloo" not in config:
                raise RuntimeError('No backend type associated with device type cpu; use npu tensors, or "cpu:gloo,npu:hccl"')
            store = dist.PrefixStore("gloo", self._store)
            self._gloo = dist.ProcessGroupGloo(store, self.rank(), self.size(), self._timeout)
        return self._gloo

    def _message(self, method: str, items: list[tuple[bool, Tensor, int]]) -> Any:
        if items[0][1].is_cpu:
            works = [(self._on_cpu().send if s else self._on_cpu().recv)([t], r, 0) for s, t, r in items]
            return works[0] if len(works) == 1 else works
        what = table()[method]
        with place.inside() as (process, thread):
            channel = self._open(process, thread, self._device(process, [t for _, t, _ in items]))
            early, me, incoming = channel.early, self.rank(), []
            for sends, tensor, other in items:
                facts = {"op": "p2p", "count": tensor.numel(), "dataType": data.number(tensor.dtype)}
                if sends:
                    early.send(early.pair(me, other), facts, data.packed(tensor))
                else:
                    incoming.append((early.pair(other, me), tensor, other, facts))
            types = {data.number(t.dtype) for _, t, _ in items}
            mixed = len(types) > 1
            dtype = data.BYTES if mixed else types.pop()
            sizes = [(s, t.nbytes if mixed else t.numel(), r) for s, t, r in items]
            lane = (items[0][2], items[0][0]) if len(items) == 1 else ALL
            event = channel.queue(process, thread, what, dtype, lambda call: timed.messages(call, sizes), lane)

            def finish(process: Process, thread: HostThread) -> None:
                for key, tensor, source, facts in incoming:
                    lost = partial(self._lost, process, thread, channel, lane)
                    data.put(tensor, early.receive(process, key, source, facts, lost))

            return self._work(process, channel, what.api, event, [t for _, t, _ in items], finish, source=items[0][2])
