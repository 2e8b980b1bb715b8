"""Boards of ranks: what belongs to one operation stays together, what its readers have surely read goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu.runtime.comm.board import KEPT, Board, FolderBoard, LocalBoard, Note


@pytest.fixture(params=["threads", "processes"])
def boards(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Board, Board]:
    """Of two ranks."""
    if request.param == "threads":
        both = LocalBoard()
        return both, both
    return FolderBoard(tmp_path), FolderBoard(tmp_path)


def note(number: int) -> Note:
    return Note(number, {"count": number}, bytes([number]))


def test_all_notes_of_one_operation_stay(boards: tuple[Board, Board]) -> None:
    mine, other = boards
    mine.put(0, {f"p2p.0.1.{n}": note(n) for n in range(3 * KEPT)}, "0,1")
    for n in range(3 * KEPT):
        found = other.get(f"p2p.0.1.{n}", 0)
        assert found is not None and (found.arrival, dict(found.facts), bytes(found.data)) == (n, {"count": n}, bytes([n]))
    assert other.get("p2p.0.1.0", 1) is None


def test_a_line_drops_what_is_older_than_its_latest_operations_and_no_other_line(boards: tuple[Board, Board]) -> None:
    mine, other = boards
    mine.put(0, {"p2p.0.2.0": note(9)}, "0,2")
    for n in range(KEPT + 2):
        mine.put(0, {f"all{n}": note(n)}, "0,1,2")
    assert [n for n in range(KEPT + 2) if other.get(f"all{n}", 0) is None] == [0, 1]
    assert other.get("p2p.0.2.0", 0) is not None


def test_what_is_on_no_line_stays_until_it_is_dropped(boards: tuple[Board, Board]) -> None:
    mine, other = boards
    for n in range(3 * KEPT):
        mine.put(0, {f"early{n}": note(n)}, None)
    assert all(other.get(f"early{n}", 0) is not None for n in range(3 * KEPT))
    mine.drop(0, "early1")
    mine.drop(0, "early1")  # it is gone already
    assert other.get("early1", 0) is None and other.get("early2", 0) is not None
