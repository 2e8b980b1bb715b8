"""Data handed over at the call: it stays until all ranks have read it, in whatever order they look, and differing calls are told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu.errors import NpuError
from npu.runtime import process as processes
from npu.runtime.comm.board import LocalBoard
from npu.runtime.comm.communicator import Communicator
from npu.runtime.comm.early import Early
from tests.unit.npu.ranks import Rank, play

FACTS = {"op": "all_reduce", "count": 1}


def lost(rank: int) -> None:
    raise AssertionError(f"rank {rank} is waited for in vain")


def early_of(me: Rank) -> tuple[processes.Process, Early]:
    process = processes.current()
    found = process.objects[me.comm]
    assert isinstance(found, Communicator)
    return process, Early(found)


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(6)), st.permutations(range(6)))
def test_data_of_operations_is_read_in_any_order(first: list[int], second: list[int]) -> None:
    """Two ranks leave data of six operations, then read them in an order of their own."""

    def body(me: Rank) -> list[bytes]:
        process, early = early_of(me)
        found = {}
        with process.lock:
            for n in range(6):
                assert early.give(FACTS, bytes([10 * me.rank + n])) == n
            for n in (first, second)[me.rank]:
                notes = early.take(process, n, FACTS, lost)
                found[n] = bytes(b for r in (0, 1) for b in bytes(notes[r].data))
        return [found[n] for n in range(6)]

    assert play(2, body) == [[bytes([n, 10 + n]) for n in range(6)]] * 2


def test_what_all_have_read_is_dropped() -> None:
    """A rank says how far it has read with what it leaves next, so two operations of each rank are kept at most."""

    def body(me: Rank) -> int:
        process, early = early_of(me)
        with process.lock:
            for _ in range(30):
                early.take(process, early.give(FACTS, b"x"), FACTS, lost)
            board = early.comm.board
            assert isinstance(board, LocalBoard)
            return sum(me.rank in ranks for key, ranks in board.notes.items() if key.startswith("early"))

    assert max(play(3, body)) <= 2


def test_messages_come_in_order_and_are_cleared_away_by_who_reads_them() -> None:
    def body(me: Rank) -> Any:
        process, early = early_of(me)
        with process.lock:
            if me.rank == 0:
                for n in range(5):
                    early.send(early.pair(0, 1), FACTS, bytes([n]))
                return None
            got = [early.receive(process, early.pair(0, 1), 0, FACTS, lost) for _ in range(5)]
            board = early.comm.board
            assert isinstance(board, LocalBoard)
            return got, [k for k in board.notes if k.startswith("early")]

    assert play(2, body)[1] == ([bytes([n]) for n in range(5)], [])


def test_ranks_that_call_different_things_are_told() -> None:
    def body(me: Rank) -> Any:
        process, early = early_of(me)
        mine = {"op": "all_reduce", "count": 4 + me.rank}
        with process.lock, pytest.raises(NpuError) as caught:
            early.take(process, early.give(mine, b""), mine, lost)
        return caught.value.situation, caught.value.facts["local"], caught.value.facts["remote"]

    assert play(2, body) == [("hccl_mismatch", 4, 5), ("hccl_mismatch", 5, 4)]
