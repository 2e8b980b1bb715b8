"""What is logged, and where to: the public logging variables of the environment, read once per process."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

DEBUG, INFO, WARNING, ERROR, NULL = range(5)  # ASCEND_GLOBAL_LOG_LEVEL; NULL: nothing
EVENT = 16  # no level of its own kind: what happened, kept in the run log
MOST_FILES = 1000
USUAL_FILES = 10


@dataclass(frozen=True, slots=True)
class Settings:
    """folder: the one that holds debug and run. level: of the debug log; modules: module -> level, before it. events: whether
    EVENT lines are kept. stdout: everything is printed and nothing written to files. files: most files a process keeps."""

    folder: str
    level: int = ERROR
    modules: tuple[tuple[str, int], ...] = ()
    events: bool = True
    stdout: bool = False
    files: int = USUAL_FILES

    @classmethod
    def of(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """From the environment; a value that cannot be used counts as not set, as with the real stack."""
        env = os.environ if environ is None else environ
        printed = env.get("ASCEND_LOG_PRINT_TO_STDOUT", "") or env.get("ASCEND_SLOG_PRINT_TO_STDOUT", "")
        level, files = env.get("ASCEND_GLOBAL_LOG_LEVEL", ""), env.get("ASCEND_HOST_LOG_FILE_NUM", "")
        return cls(
            folder_of(env),
            int(level) if level in ("0", "1", "2", "3", "4") else ERROR,
            module_levels(env.get("ASCEND_MODULE_LOG_LEVEL", "")),
            env.get("ASCEND_GLOBAL_EVENT_ENABLE", "1") != "0",
            printed == "1",
            int(files) if re.fullmatch(r"[0-9]{1,4}", files) and 1 <= int(files) <= MOST_FILES else USUAL_FILES,
        )

    def passes(self, level: int, module: str) -> bool:
        """Whether a line of that level and module is kept."""
        if level == EVENT:
            return self.events
        limit = next((own for name, own in self.modules if name == module), self.level)
        return level >= limit and limit != NULL


def folder_of(env: Mapping[str, str]) -> str:
    """ASCEND_PROCESS_LOG_PATH, else ASCEND_WORK_PATH/log, else ~/ascend/log."""
    own, work = env.get("ASCEND_PROCESS_LOG_PATH", ""), env.get("ASCEND_WORK_PATH", "")
    if own:
        return own
    return os.path.join(work, "log") if work else os.path.join(env.get("HOME", "") or os.path.expanduser("~"), "ascend", "log")


def module_levels(text: str) -> tuple[tuple[str, int], ...]:
    """TBE=0:RUNTIME=1 as pairs; one part that is written otherwise voids the whole value."""
    found = [re.fullmatch(r"([A-Z0-9_]+)=([0-4])", part) for part in text.split(":")]
    return tuple((m[1], int(m[2])) for m in found if m) if all(found) else ()
