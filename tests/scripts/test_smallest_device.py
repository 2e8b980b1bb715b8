"""The smallest device is a legal one: it has what the door asks for, and the runtime works on it unchanged."""

from __future__ import annotations

import inspect

import pytest

from npu.driver.door import Handle
from npu.driver.handle import DeviceHandle
from npu.driver.null import NullHandle
from tests.scripts.conftest import Run

SCRIPT = """
import npu.runtime.process
from npu.driver.null import NullHandle

npu.runtime.process.open_device = lambda machine, device, emit, planned=(): NullHandle(device)

import acl

print(acl.init(), acl.rt.set_device(0))
first, _ = acl.rt.malloc(10, 0)
second, _ = acl.rt.malloc(10, 0)
print(acl.rt.free(first))
third, _ = acl.rt.malloc(10, 0)
stream, _ = acl.rt.create_stream()
print(acl.rt.memcpy(second, 10, acl.util.bytes_to_ptr(b"0123456789"), 10, 1))
print(acl.rt.memcpy_async(third, 10, second, 10, 3, stream), acl.rt.synchronize_stream(stream))
back, _ = acl.rt.malloc_host(10)
print(acl.rt.memcpy(back, 10, third, 10, 2), acl.util.ptr_to_bytes(back, 10))
print(acl.rt.reset_device(0), acl.finalize())
"""


@pytest.mark.parametrize("made", [NullHandle, DeviceHandle])
def test_a_handle_takes_what_the_door_says(made: type[Handle]) -> None:
    asked = {name: what for name, what in inspect.getmembers(Handle, inspect.isfunction) if not name.startswith("_")}
    assert len(asked) > 20
    for name, what in asked.items():
        offered = inspect.signature(getattr(made, name))
        assert [(p.name, p.default) for p in offered.parameters.values()] == [
            (p.name, p.default) for p in inspect.signature(what).parameters.values()
        ], name


def test_memory_given_back_and_taken_again_is_another_block_and_a_change() -> None:
    device = NullHandle()
    first, second = device.alloc(10, False), device.alloc(5000, False)
    assert (device.used(), device.changes) == (3 * 4096, 2)
    assert device.free(first) and not device.free(first)
    third = device.alloc(10, False)
    assert len({first, second, third}) == 3
    assert (device.used(), device.changes) == (3 * 4096, 4)
    assert device.find(first) is None and device.find(second + 4999) is not None


def test_the_runtime_works_on_it(start: Run) -> None:
    ran = start("python", "-m", "npu", "script.py", script=SCRIPT)
    assert ran.out.splitlines() == ["0 0", "0", "0", "0 0", "0 b'0123456789'", "0 0"], ran.err
