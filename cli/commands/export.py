"""`msprof export`: the files of the real profiler from a capture, and what to do with folders nobody has exported yet."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from cli.options import Lang
from cli.say import say
from cli.terminal import language, written

if TYPE_CHECKING:
    from profiler.read.raw_folders import RawFolder
    from profiler.trace import Trace


class Kind(StrEnum):
    """What to write; values are choices of --as."""

    msprof = "msprof"
    timeline = "timeline"
    csv = "csv"
    db = "db"
    torch_npu = "torch_npu"
    torch_npu_db = "torch_npu_db"
    perfetto = "perfetto"


# choice -> names of profiler.export.msprof.FORMATS; nothing: all of them
FORMATS: dict[Kind, tuple[str, ...]] = {
    Kind.msprof: (),
    Kind.timeline: ("msprof",),
    Kind.csv: (
        "op_summary", "op_statistic", "api_statistic", "task_time", "communication_statistic", "step_trace", "fusion_op",
        "msprof_tx", "memory_record", "operator_memory", "npu_mem", "npu_module_mem", "hbm",
    ),
    Kind.db: ("msprof_db",),
}  # fmt: skip


class Told(NamedTuple):
    """A folder that is no capture of ours: what it is, what to do next, and whether anything is missing in it."""

    what: str
    next: str
    lacking: bool


def export(
    source: Annotated[Path, typer.Argument(metavar="DIR", help="A PROF folder with a capture, or its parent.")],
    kind: Annotated[
        Kind,
        typer.Option("--as", help="msprof: all; only its timeline, csv or db; torch_npu, torch_npu_db: *_ascend_pt; perfetto."),
    ] = Kind.msprof,
    lang: Lang = None,
) -> int:
    """Write the files of the real profiler again from a capture, into its PROF folder. Earlier exports are not changed."""
    captures, others = find(source, str(language(lang)))
    for trace in captures:
        for path in _written(trace, kind):
            written(path)
    for folder in others:
        print(f"msprof: {folder.what}\n  next: {folder.next}", file=sys.stderr)
    return int(any(f.lacking for f in others))


def _written(trace: Trace, kind: Kind) -> list[Path]:
    """The files or folders of one capture."""
    if kind in (Kind.torch_npu, Kind.torch_npu_db):
        from profiler.export.torch_npu import export_torch_npu

        return [export_torch_npu(trace, trace.source.parent, export_type="text" if kind is Kind.torch_npu else "db")]
    if kind is Kind.perfetto:
        from profiler.convert.perfetto import export_perfetto

        return [export_perfetto(trace, trace.source)]
    from profiler.export.msprof import export_msprof

    return export_msprof(trace, trace.source, only=FORMATS[kind])


def find(path: Path, lang: str = "en") -> tuple[list[Trace], list[Told]]:
    """(captures of ours, other result folders) at a path. FileNotFoundError for a path that does not exist."""
    if not path.exists():
        raise FileNotFoundError(2, "no such file or folder", str(path))
    from profiler.read import own, raw_folders

    captures = [own.read(place) for place in own.places(path)]
    others = [told(folder, lang) for folder in raw_folders.find(path)]
    if not captures and not others:
        others = [Told(say("export", "nothing", lang, path=path), say("export", "do_collect", lang), True)]
    return captures, others


def told(folder: RawFolder, lang: str) -> Told:
    """What a folder lacks and how it gets it."""
    path, framework = folder.path, folder.kind != "msprof"
    if folder.exported:
        return Told(say("export", "exported", lang, path=path), say("export", "do_analyze", lang, path=path), False)
    if not folder.devices and not folder.host and framework and (path / "FRAMEWORK").is_dir():
        return Told(say("export", "framework_only", lang, path=path), say("export", "do_collect", lang), True)
    if not folder.devices and not folder.host:
        return Told(say("export", "nothing", lang, path=path), say("export", "do_collect", lang), True)
    what = say("export", "raw_framework" if framework else "raw_msprof", lang, path=path)
    next = say("export", f"do_{folder.kind}", lang, path=path)
    if not folder.ended:
        what += say("export", "incomplete", lang)
        next += say("export", "do_stop_framework" if framework else "do_stop_msprof", lang)
    if not folder.devices:
        what += say("export", "no_device", lang)
    elif not folder.host:
        what += say("export", "no_host", lang)
    return Told(what, next, True)
