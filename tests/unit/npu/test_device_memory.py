"""The allocator of one device: no overlap, reuse, pages, and addresses no host pointer can have."""

from __future__ import annotations

import ctypes
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu.device.memory import BASE, HUGE_PAGE, PAGE, Memory, device_of
from npu.errors import NpuError

GIB = 1 << 30


def test_addresses_are_dense_deterministic_and_no_host_addresses():
    first, second = Memory(0, GIB), Memory(0, GIB)
    for memory in (first, second):
        blocks = [memory.alloc(size) for size in (100, 5000, 512)]
        assert [b.address - BASE for b in blocks] == [0, 512, 512 + 5120]
    assert device_of(Memory(3, GIB).alloc(1).address) == 3
    assert device_of(id(first)) == -1


def test_pages_are_what_counts_against_the_capacity():
    memory = Memory(0, GIB)
    small, huge = memory.alloc(5000), memory.alloc(5000, HUGE_PAGE)
    assert (small.pages, small.page) == (2, PAGE)
    assert (huge.pages, huge.page) == (1, HUGE_PAGE)
    assert memory.used == 2 * PAGE + HUGE_PAGE
    memory.free(huge.address)
    assert memory.used == 2 * PAGE


def test_sixty_gigabytes_fit_on_a_small_machine_and_hold_what_is_written():
    memory = Memory(0, 64 * GIB)
    block = memory.alloc(60 * GIB)
    far = memory.host(block.address + 59 * GIB)
    ctypes.memmove(far, b"there", 5)
    assert ctypes.string_at(far, 5) == b"there"
    assert memory.alloc(8 * GIB) is None


def test_an_address_inside_a_block_is_found_and_one_outside_is_not():
    memory = Memory(0, GIB)
    a, b = memory.alloc(1000), memory.alloc(1000)
    assert memory.find(a.address + 999) == (a, 999)
    assert memory.find(b.address)[0] is b
    memory.free(a.address)
    assert memory.find(a.address + 10) is None
    assert memory.free(a.address) is None  # freed twice
    assert memory.find(b.address + 5000) is None


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 300_000), st.booleans(), st.integers(0, 30)), max_size=60))
def test_random_use_never_overlaps_and_gives_everything_back(steps):
    memory = Memory(0, 64 << 20)
    live = []
    for take, size, huge, which in steps:
        if take or not live:
            block = memory.alloc(size, HUGE_PAGE if huge else PAGE)
            if block is not None:
                live.append(block)
        else:
            assert memory.free(live.pop(which % len(live)).address) is not None
        spans = sorted((b.address, b.address + b.span) for b in live)
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
        assert memory.used == sum(b.pages * b.page for b in live)
    for block in live:
        memory.free(block.address)
    assert memory.largest_free == memory.capacity and memory.used == 0


def test_what_is_attached_side_by_side_is_one_block():
    """Three pieces: two whose bytes follow each other are one range of addresses, the third stays by itself."""
    memory = Memory(0, GIB)
    buffer = (ctypes.c_char * (4 * PAGE))()
    place = ctypes.addressof(buffer)
    start = memory.window(4 * PAGE)
    memory.attach(start + PAGE, PAGE, place + PAGE)
    memory.attach(start, PAGE, place)
    memory.attach(start + 2 * PAGE, PAGE, place + 3 * PAGE)
    block, offset = memory.find(start + PAGE + 7)
    assert (block.address, block.span, offset) == (start, 2 * PAGE, PAGE + 7)
    assert memory.find(start + 2 * PAGE)[0].span == PAGE and memory.find(start + 3 * PAGE) is None
    assert memory.host(start + PAGE) == place + PAGE and memory.host(start + 2 * PAGE) == place + 3 * PAGE
    assert memory.detach(start) and not memory.detach(start)
    assert memory.find(start) is None and memory.find(start + PAGE)[0].span == PAGE
    with pytest.raises(NpuError, match="not_device_memory"):
        memory.host(start)
    assert device_of(start) == 0 and memory.window(1) >= start + 4 * PAGE


def test_a_moved_block_keeps_its_address_until_it_is_freed():
    memory = Memory(0, GIB)
    a, b = memory.alloc(1000), memory.alloc(1000)
    buffer = (ctypes.c_char * 1024)()
    before = memory.host(b.address), memory.changes
    memory.move(a.address, ctypes.addressof(buffer))
    assert memory.host(a.address + 5) == ctypes.addressof(buffer) + 5 and memory.host(b.address) == before[0]
    memory.free(a.address)
    assert memory.changes == before[1] + 1 and memory.host(a.address) == memory.host(b.address) - 1024
