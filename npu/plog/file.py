"""A log file of one process that goes on in a new one when it is full; the oldest goes when there are too many."""

from __future__ import annotations

import os
from collections import deque
from contextlib import suppress

from npu.plog.line import file_stamp

MOST_BYTES = 20 << 20  # of one file
MILLISECOND = 1_000_000


class LogFile:
    """Made at the first line: a process that logs nothing leaves nothing. prefix: plog or device."""

    def __init__(self, folder: str, prefix: str, pid: int, most_files: int) -> None:
        self.folder, self.prefix, self.pid, self.most_files = folder, prefix, pid, most_files
        self.paths: deque[str] = deque()
        self._fd, self._size, self._stamp = -1, 0, 0

    def write(self, data: bytes, unix_ns: int) -> None:
        """Append whole lines; unix_ns: now, which a new file is named after. OSError when the folder cannot be used."""
        if self._fd < 0 or (self._size and self._size + len(data) > MOST_BYTES):
            self._open(unix_ns)
        os.write(self._fd, data)
        self._size += len(data)

    def _open(self, unix_ns: int) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        os.makedirs(self.folder, mode=0o750, exist_ok=True)
        self._stamp = max(unix_ns, self._stamp + MILLISECOND)  # files of one process are ordered by the stamp in their names
        path = os.path.join(self.folder, f"{self.prefix}-{self.pid}_{file_stamp(self._stamp)}.log")
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
        self._size = os.fstat(self._fd).st_size
        if path not in self.paths:
            self.paths.append(path)
        while len(self.paths) > self.most_files:
            with suppress(OSError):
                os.unlink(self.paths.popleft())

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
