"""The Sink of captures. Folder and collection come from the launcher's environment (`NPU_SINK=profiler.record.sink:open_sink`);
acl.prof starts and stops a capture of its own beside it, or alone (`profiler.record.sink:open_profiled`)."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

from npu.events import NullSink, Sink
from profiler.record.capture import Capture, framed
from profiler.record.collection import asked
from profiler.record.profile import Profile, collection
from profiler.record.wanted import nothing, of_domains, within

OUTPUT = "NPUSCOPE_OUTPUT"  # parent folder of the PROF folders
Writer = Callable[..., None]


class CaptureSink:
    """Records the process into `main`, unless it is None, and what acl.prof asks for into a capture of its own."""

    def __init__(self, main: Capture | None) -> None:
        self.main = main
        self._former: Capture | None = main  # whose numbers of texts hold
        self._profile: Profile | None = None
        self._facts: dict[str, object] = {}
        self._kernels: list[tuple[object, ...]] = []  # named by later rows, also in captures that begin later

    def text(self, text: str) -> int:
        profile = self._profile
        if self.main is None:
            return -1 if profile is None else profile.text(text)
        before = self.main.texts
        number = self.main.text(text)
        if profile is not None and self.main.texts > before:
            profile.follow(framed(text))
        return number

    def writer(self, table: str) -> Writer:
        """Where rows of a table go at present; asked for again when acl.prof starts or stops."""
        found = [self._of_main(table), self._profile.writer(table) if self._profile is not None else None]
        if table == "kernel":
            found.append(self._remember)
        writers = [w for w in found if w is not None]
        if len(writers) < 2:
            return writers[0] if writers else nothing

        def each(*row: object) -> None:
            for write in writers:
                write(*row)

        return each

    def _remember(self, *row: object) -> None:
        self._kernels.append(row)

    def _of_main(self, table: str) -> Writer | None:
        if self.main is None or not self.main.collection.wants(table):
            return None
        write, wanted = self.main.writer(table), self.main.collection
        if table == "marker":
            inside = bool(wanted.mstx_include)
            known = {self.main.keep(n) for n in (wanted.mstx_include or wanted.mstx_exclude).split(",") if n}
            write = of_domains(write, lambda domain: (domain in known) == inside, wanted.msproftx)
        window = wanted.window()
        return write if window is None or table == "kernel" else within(write, *window)

    def meta(self, **facts: object) -> None:
        self._facts.update(facts)
        if self.main is not None:
            self.main.meta(**facts)
        if self._profile is not None:
            self._profile.capture.meta(**facts)

    def profile(self, what: str, **facts: object) -> None:
        """What acl.prof does (npu.events.Profiled). OSError for a folder that cannot be written."""
        if what == "init":
            self._profile = Profile(Path(str(facts["folder"])), self._former, self._kernels)
            self._profile.capture.meta(**self._facts)
        elif self._profile is None:
            return
        elif what == "start":
            machine, logical = (cast("Sequence[int]", facts[n]) for n in ("machine_devices", "devices"))
            options = cast("Mapping[int, str]", facts["options"])
            mask, metrics, at = (cast("int", facts[n]) for n in ("mask", "metrics", "at"))
            if not self._profile.capture.folder.exists():  # read and thrown away since the last stop: this is a new one
                self._profile = Profile(self._profile.capture.prof.parent, self.main or self._profile.capture, self._kernels)
                self._profile.capture.meta(**self._facts)
            self._profile.start(collection(mask, metrics, machine, options), logical, at)
        elif what == "stop":
            self._profile.stop()
        elif what == "finalize":
            self._profile.capture.close()
            self._former = self.main or self._profile.capture
            self._profile = None

    def close(self) -> None:
        if self._profile is not None:
            self._profile.capture.close()
        if self.main is not None:
            self.main.close()


def open_sink() -> Sink:
    """A capture under $NPUSCOPE_OUTPUT (default: the current folder). A folder that cannot be written is told on stderr and
    the script goes on unrecorded."""
    parent = Path(os.environ.get(OUTPUT) or ".")
    try:
        sink = CaptureSink(Capture(parent, asked(os.environ)))
    except OSError as error:
        print(f"npuscope: nothing is recorded: {error}", file=sys.stderr)
        return NullSink()
    atexit.register(sink.close)
    return sink


def open_profiled() -> Sink:
    """For a process that nobody records: only acl.prof writes."""
    sink = CaptureSink(None)
    atexit.register(sink.close)
    return sink

