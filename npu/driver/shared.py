"""The file all processes of a user share: int64 words in a mapped file, one lock, rebuilt when it is not ours.

Words are read and written whole (one aligned 8-byte store each), so that a process killed at any point leaves old or
new values, never halves.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import threading
import weakref
from collections.abc import Mapping

from npu.driver.door import DriverError

FILE = "devices.table"
MAGIC = int.from_bytes(b"NPUTABLE", "little")
HEADER = 64  # words
BOOT_ID = "/proc/sys/kernel/random/boot_id"


def state_folder(environ: Mapping[str, str] | None = None) -> str:
    """Where the device table lives: NPU_STATE_DIR, else a folder of this user and this machine below ~/.cache.

    Not XDG_RUNTIME_DIR: it is set in a login and not in cron or ssh, and the two would see different devices. The host
    name is in it because a home folder may be shared by a cluster, and a mapped file is not.
    """
    env = os.environ if environ is None else environ
    named = env.get("NPU_STATE_DIR", "")
    if named:
        return named
    home = env.get("HOME", "") or os.path.expanduser("~")
    return os.path.join(home, ".cache", "npuscope", f"state-{os.uname().nodename}")


def _boot() -> tuple[int, int]:
    """Which boot of the machine this is, as two words: start times of processes count from it. Zeros where unknown."""
    try:
        with open(BOOT_ID, encoding="ascii") as file:
            digits = file.read().replace("-", "").strip()
        return int(digits[:15], 16), int(digits[15:30], 16)
    except (OSError, ValueError):
        return 0, 0


class Lock:
    """One holder among all processes and threads. The same thread may take it again (a finalizer can run at any time)."""

    def __init__(self, fd: int) -> None:
        self._fd, self._depth, self._threads = fd, 0, threading.RLock()

    def __enter__(self) -> None:
        self._threads.acquire()
        try:
            if self._depth == 0:
                fcntl.flock(self._fd, fcntl.LOCK_EX)
            self._depth += 1
        except BaseException:
            self._threads.release()
            raise

    def __exit__(self, *_error: object) -> None:
        self._depth -= 1
        try:
            if self._depth == 0:
                fcntl.flock(self._fd, fcntl.LOCK_UN)
        finally:
            self._threads.release()


class SharedWords:
    """A mapped file of `words` int64 words: the first four say what it is, those from HEADER on are the caller's.

    A file that is short, foreign, of another version or from before the last boot is emptied under the lock; the file is
    never made shorter, because others may have it mapped. After fork the child gets a file descriptor and a lock of its
    own (a flock belongs to the descriptor, so sharing one would exclude nobody). DriverError driver_failure when the
    folder or the file cannot be made.
    """

    def __init__(self, folder: str, version: int, words: int) -> None:
        self.path = os.path.join(folder, FILE)
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise DriverError("driver_failure", path=self.path, reason=error.strerror) from error
        self.lock = Lock(self._fd)
        try:
            with self.lock:
                # Real blocks, not a hole: a full disk is then an error here and not a signal at the first store.
                os.posix_fallocate(self._fd, 0, words * 8)
                self.bytes = mmap.mmap(self._fd, words * 8)
                self.words = memoryview(self.bytes).cast("q")
                wanted = (MAGIC, version, *_boot())
                if tuple(self.words[: len(wanted)]) != wanted:
                    self.bytes[:] = bytes(words * 8)
                    for at, value in enumerate(wanted):
                        self.words[at] = value
        except (OSError, ValueError) as error:
            os.close(self._fd)
            raise DriverError("driver_failure", path=self.path, reason=str(error)) from error
        me = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _renew(me))

    def renew(self) -> None:
        """After fork: a descriptor of this process's own for the same file, even when its name is gone by now."""
        inherited = self._fd
        self._fd = os.open(f"/proc/self/fd/{inherited}", os.O_RDWR | os.O_CLOEXEC)
        os.close(inherited)
        self.lock = Lock(self._fd)

    def close(self) -> None:
        if self._fd >= 0:
            self.words.release()
            self.bytes.close()
            os.close(self._fd)
            self._fd = -1

    @property
    def closed(self) -> bool:
        return self._fd < 0


def _renew(reference: weakref.ref[SharedWords]) -> None:
    shared = reference()
    if shared is not None and not shared.closed:
        shared.renew()
