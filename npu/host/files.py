"""Files of a host below a root folder: the paths a host writes, links followed without ever leaving the root.

A tree may come from a stranger, so a link is followed by hand: absolute targets start at the root again, `..` stops there.
Archives made where links do not exist hold a small text file with the target instead; such a file counts as the link.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MOST_BYTES = 1 << 20  # version files have some hundred bytes; nothing larger than this is read
MOST_LINKS = 40  # as the kernel
LINK_BYTES = 256  # a file that stands for a link holds one path and no line break


class Files:
    """What can be read of a host. `unreadable` collects (path, why) of what exists and could not be read."""

    def __init__(self, root: str | Path = "/") -> None:
        self.root = Path(root)
        self.unreadable: list[tuple[str, str]] = []
        self._links: dict[str, str | None] = {}

    def real(self, path: str) -> str:
        """The host path a path leads to, links followed; the rest stays as it is where a part does not exist or links circle."""
        left = [p for p in path.replace("\0", "?").split("/") if p not in ("", ".")][::-1]  # no name holds NUL
        at: list[str] = []
        followed = 0
        while left:
            part = left.pop()
            if part == "..":
                del at[-1:]
                continue
            target = self._link("/".join([*at, part])) if followed < MOST_LINKS else None
            if target is None:
                at.append(part)
                continue
            followed += 1
            if target.startswith("/"):
                at = []
            left += [p for p in target.split("/") if p not in ("", ".")][::-1]
        return "/" + "/".join(at)

    def read(self, path: str) -> str | None:
        """The text of a file, None when there is none. Bytes that are no UTF-8 become replacement signs."""
        place = self._place(self.real(path))
        try:
            if not stat.S_ISREG(place.stat().st_mode):
                return None
            with place.open("rb") as file:
                return file.read(MOST_BYTES).decode("utf-8", "replace")
        except OSError as error:
            self._note(path, error)
            return None

    def names(self, path: str) -> tuple[str, ...]:
        """Names in a folder, sorted; () when there is none."""
        try:
            return tuple(sorted(os.listdir(self._place(self.real(path)))))
        except OSError as error:
            self._note(path, error)
            return ()

    def exists(self, path: str) -> bool:
        try:
            return self._place(self.real(path)).exists()
        except OSError as error:
            self._note(path, error)
            return False

    def folder(self, path: str) -> bool:
        try:
            return self._place(self.real(path)).is_dir()
        except OSError as error:
            self._note(path, error)
            return False

    def _place(self, real: str) -> Path:
        return self.root / real.lstrip("/")

    def _link(self, relative: str) -> str | None:
        """The target when this is a link or a file that stands for one."""
        if relative not in self._links:
            self._links[relative] = self._target(self.root / relative)
        return self._links[relative]

    def _target(self, place: Path) -> str | None:
        try:
            status = place.lstat()
            if stat.S_ISLNK(status.st_mode):
                return os.readlink(place)
            if not stat.S_ISREG(status.st_mode) or not 0 < status.st_size <= LINK_BYTES or self.root == Path("/"):
                return None
            text = place.read_bytes().decode("utf-8", "replace")
            if "\n" in text or "=" in text or "\0" in text or not (place.parent / text).exists():
                return None
        except (OSError, ValueError):  # not there, no permission, or no path at all: no link to follow
            return None
        return text if "/" in text or place.name in ("cann", "latest") else None

    def _note(self, path: str, error: OSError) -> None:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            self.unreadable.append((path, error.strerror or type(error).__name__))
