"""Freed memory is kept where the C library can be told, goes back at the end, and nothing happens where it cannot be told."""

from __future__ import annotations

import ctypes
import platform

import pytest

from profiler.analysis import heap


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told")
def test_glibc_takes_both_limits() -> None:
    with heap.kept() as told:
        assert told


def test_the_limits_are_the_usual_ones_again_even_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[int, ...]] = []

    class Library:
        def mallopt(self, what: int, value: int) -> int:
            said.append((what, value))
            return 1

        def malloc_trim(self, left: int) -> int:
            said.append((left,))
            return 1

    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library())
    with pytest.raises(ValueError, match="broken"), heap.kept() as told:
        assert told and said == [(heap.MMAP_MAX, 0), (heap.TRIM_THRESHOLD, heap.KEPT)]
        raise ValueError("broken")
    assert said[2:] == [(heap.MMAP_MAX, heap.MMAP_USUAL), (heap.TRIM_THRESHOLD, heap.TRIM_USUAL), (0,)]


def test_other_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    with heap.kept() as told:
        assert not told
