"""The log of one process: host lines to plog files, lines of devices to theirs; or all of them to stdout."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

from npu.plog.file import LogFile
from npu.plog.line import encoded
from npu.plog.settings import EVENT, Settings

PROCESS_NAME = "/proc/self/comm"


class ProcessLog:
    """now: unix ns as the calling thread sees them. Nothing is opened, and no name looked up, before the first line."""

    def __init__(self, settings: Settings, pid: int, now: Callable[[], int]) -> None:
        self.settings, self.pid, self.now = settings, pid, now
        self._files: dict[str, LogFile] = {}
        self._name: str | None = None
        self._lock = threading.RLock()  # a finalizer may fail a call while a line is being written
        self._failed = False

    def __call__(self, level: int, module: str, text: str, where: str = "acl", when: int | None = None) -> None:
        """A host line. level: npu.plog.settings; where: file:line of the source that writes it; when: unix ns, None now."""
        if self.settings.passes(level, module):
            kind = "run" if level == EVENT else "debug"
            moment = self.now() if when is None else when
            line = encoded(level, module, self.pid, self.name, moment, where, f"{threading.get_native_id()} {text}")
            self._write(os.path.join(kind, "plog"), "plog", line, moment)

    def device(
        self, number: int, level: int, module: str, process: str, text: str, where: str, when: int | None = None
    ) -> None:
        """A line that the device's own software says. number: device as the script counts."""
        if self.settings.passes(level, module):
            kind = "run" if level == EVENT else "debug"
            moment = self.now() if when is None else when
            line = encoded(level, module, self.pid, process, moment, where, text)
            self._write(os.path.join(kind, f"device-{number}"), "device", line, moment)

    @property
    def name(self) -> str:
        """This process's name, as the system shows it."""
        if self._name is None:
            try:
                number = os.open(PROCESS_NAME, os.O_RDONLY | os.O_CLOEXEC)  # open() is gone when the interpreter ends
                self._name = os.read(number, 64).decode("utf-8", "replace").strip()
                os.close(number)
            except OSError:
                self._name = os.path.basename(sys.executable)
        return self._name

    def _write(self, place: str, prefix: str, line: bytes, moment: int) -> None:
        with self._lock:
            try:
                if self.settings.stdout:
                    if sys.stdout is not None:
                        sys.stdout.flush()
                    os.write(1, line)
                    return
                file = self._files.get(place)
                if file is None:
                    folder = os.path.join(self.settings.folder, place)
                    file = self._files[place] = LogFile(folder, prefix, self.pid, self.settings.files)
                file.write(line, moment)
            except (OSError, ValueError) as error:  # ValueError: stdout was closed
                self._tell(error)

    def _tell(self, error: Exception) -> None:
        """Once: a log that cannot be written must not end the program."""
        if not self._failed and sys.stderr is not None:
            self._failed = True
            reason = getattr(error, "strerror", None) or error
            print(f"npuscope: no log can be written to {self.settings.folder}: {reason}\n"
                  "set ASCEND_PROCESS_LOG_PATH to a folder of yours", file=sys.stderr)
