"""The smallest Handle: everything is done at once, memory is a list of buffers. What a device must offer, in one screen."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from npu.device.memory import BASE, PAGE, Block
from npu.device.scheduler import Stream
from npu.device.task import Task
from npu.driver.door import DriverError

if TYPE_CHECKING:
    from npu.driver.door import Handle
    from npu.driver.fault_kinds import Kind
    from npu.driver.injection import Struck
    from npu.errors import NpuError


class NullHandle:
    """A device on which every task ends when it is submitted, and which shares no memory."""

    def __init__(self, device: int = 0) -> None:
        self.device = device
        self.extra: dict[object, object] = {}
        self.changes = 0
        self._next = BASE  # the first address that was never given
        self._held = 0
        self._streams: dict[int, Stream] = {}
        self._blocks: dict[int, tuple[Block, ctypes.Array[ctypes.c_char]]] = {}

    def add_stream(self, number: int, priority: int = 0) -> None:
        self._streams[number] = Stream(number, priority)

    def drop_stream(self, number: int) -> None:
        del self._streams[number]

    def clear(self, number: int) -> None:
        pass

    def submit(self, number: int, task: Task, now: int) -> None:
        task.start = task.done_at = now
        if task.on_done is not None:
            task.on_done(now)

    def stream(self, number: int) -> Stream:
        return self._streams[number]

    def advance(self, now: int) -> None:
        pass

    def next_event(self) -> int:
        return -1

    def limit_kernels(self, ns: int) -> None:
        pass

    def tell(self, emit: Callable[..., None] | None) -> None:
        pass

    def hold(self, size: int) -> None:
        self._held += size

    def let_go(self, size: int) -> None:
        self._held -= size

    def window(self, size: int, align: int) -> int:
        address = -(-self._next // align) * align
        self._next = address + size
        return address

    def attach(self, address: int, size: int, host: int) -> Block:
        raise DriverError("not_supported", reason="the smallest device shares no memory")

    def detach(self, address: int) -> bool:
        return False

    def move(self, address: int, host: int) -> None:
        raise DriverError("not_supported", reason="the smallest device shares no memory")

    def alloc(self, size: int, huge: bool) -> int:
        pages = -(-size // PAGE)
        address = self.window(pages * PAGE, PAGE)
        self._blocks[address] = Block(address, size, pages * PAGE, self.changes, PAGE, pages), (ctypes.c_char * (pages * PAGE))()
        self.changes += 1
        return address

    def free(self, address: int) -> bool:
        if self._blocks.pop(address, None) is None:
            return False
        self.changes += 1
        return True

    def find(self, address: int) -> tuple[Block, int] | None:
        for start, (block, _) in self._blocks.items():
            if start <= address < start + block.span:
                return block, address - start
        return None

    def place(self, address: int) -> int:
        found = self.find(address)
        if found is None:
            raise KeyError(address)
        return ctypes.addressof(self._blocks[found[0].address][1]) + found[1]

    def memory_info(self, attribute: int) -> tuple[int, int]:
        return 0, 0

    def used(self) -> int:
        return self._held + sum(block.span for block, _ in self._blocks.values())

    def queued(self) -> list[tuple[int, Sequence[Task]]]:
        return []

    def on_fault(self, told: Callable[[Struck], None]) -> None:
        pass

    def link_failure(self) -> NpuError | None:
        return None

    def lose(self, kind: Kind) -> None:
        pass

    def close(self) -> None:
        self._blocks.clear()


if TYPE_CHECKING:  # the type checker holds it to the door
    _smallest: type[Handle] = NullHandle
