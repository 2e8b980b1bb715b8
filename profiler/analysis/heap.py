"""Memory that one array gave back goes to the next one. The C library hands large blocks back to the system as soon as they are
free, and the system clears every page of the next array: up to half the time of an analysis that makes thousands of arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

# Of malloc.h, with what glibc begins with or comes to by itself.
TRIM_THRESHOLD, TRIM_USUAL = -1, 64 << 20
MMAP_MAX, MMAP_USUAL = -4, 65_536  # blocks straight from the system
KEPT = (1 << 31) - 1  # bytes that may stay free at the end of the heap: the most mallopt takes


@contextmanager
def kept() -> Iterator[bool]:
    """Freed memory stays for later arrays until the end, and goes back to the system then. False where the C library cannot be
    told (only glibc can): nothing changes."""
    library = _glibc()
    if library is None:
        yield False
        return
    told = bool(library.mallopt(MMAP_MAX, 0) and library.mallopt(TRIM_THRESHOLD, KEPT))
    try:
        yield told
    finally:
        library.mallopt(MMAP_MAX, MMAP_USUAL)
        library.mallopt(TRIM_THRESHOLD, TRIM_USUAL)
        library.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL(None)
        return library if library.mallopt and library.malloc_trim else None
    except (OSError, AttributeError, TypeError):  # no such library, no such functions, Windows
        return None
