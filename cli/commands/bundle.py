"""`npu-diag bundle`: facts, logs and profiles of this host in one archive for somebody else."""

from __future__ import annotations

import getpass
import io
import json as json_text
import os
import platform
import subprocess
import tarfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from cli.common import CliError
from cli.options import Force
from cli.terminal import free_path, written
from npu.units import MIB, size

NAME = "npu-bundle.tar.gz"
MOST_LOGS = 40  # newest files
MOST_BYTES = 64 * MIB  # of each file: its end, where errors stand
LARGEST = 2048 * MIB  # of everything; profiles can be larger and are then better sent on their own

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("bundle")
def bundle(
    paths: list[Path] = typer.Argument(
        None, metavar="[PATH]...", help="Profiles (PROF folders), logs or other files to put in.", show_default=False
    ),
    output: Path | None = typer.Option(None, "--output", "-o", help=f"The archive; default {NAME}.", show_default=False),
    no_logs: bool = typer.Option(False, "--no-logs", help="Leave the log folder out."),
    force: Force = False,
) -> int:
    """Pack the facts of this host, the check's report, the newest logs and the given profiles into one archive.

    Texts are cleaned of secrets, home folder, user and host name; profiles go in unchanged.
    """
    target = free_path(output, NAME, force)
    for path in paths or []:
        path.stat()
    files = [(name, data) for name, data in _facts()]
    logs = [] if no_logs else list(_logs())
    extra = [file for path in paths or [] for file in _below(path)]
    total = sum(f.stat().st_size for _, f in extra)
    if total > LARGEST:
        raise CliError(f"the given files have {size(total)}", f"leave some out: a bundle holds up to {size(LARGEST)}")
    with tarfile.open(target, "w:gz") as archive:
        for name, data in (*files, *logs):
            record = tarfile.TarInfo(f"npu-bundle/{name}")
            record.size = len(data)
            archive.addfile(record, io.BytesIO(data))
        for name, file in extra:
            archive.add(file, f"npu-bundle/profiles/{name}", recursive=False)
    print(f"{len(files)} fact files, {len(logs)} logs, {len(extra)} other files")
    written(target)
    return 0


def _facts() -> Iterator[tuple[str, bytes]]:
    """The check's report as text and JSON, and what the collector sees (of a simulated host: its environment and machine)."""
    from cli.this_host import is_real, look
    from diag.check import check
    from diag.report import lines, to_json
    from npu.driver.host_file import host_folder

    checked = check(look(os.environ))
    yield "check.txt", _clean("\n".join(lines(checked, "en", verbose=True)) + "\n")
    yield "check.json", _clean(json_text.dumps(to_json(checked), ensure_ascii=False, indent=1) + "\n")
    yield "facts.txt", _clean(_collected())
    folder = None if is_real(os.environ) else host_folder(os.environ)
    for name in ("env.txt", "machine.json") if folder is not None else ():
        yield name, _clean((folder / name).read_text(encoding="utf-8", errors="replace")) if folder is not None else b""


def _collected() -> str:
    """The collector script's own output on this machine."""
    script = resources.files("diag").joinpath("data/collector.sh").read_text(encoding="utf-8")
    with TemporaryDirectory(prefix="npu-bundle-") as folder:
        out = Path(folder) / "facts.txt"
        subprocess.run(["sh", "-s", str(out)], input=script, text=True, capture_output=True, timeout=300, check=True)
        return out.read_text(encoding="utf-8", errors="replace")


def _logs() -> Iterator[tuple[str, bytes]]:
    """The newest log files, the last of each file when it is long."""
    env = os.environ
    place = env.get("ASCEND_PROCESS_LOG_PATH") or f"{env.get('ASCEND_WORK_PATH') or env.get('HOME', '') + '/ascend'}/log"
    top = Path(place)
    files = (
        sorted((p for p in top.rglob("*.log") if p.is_file()), key=lambda p: p.stat().st_mtime)[-MOST_LOGS:]
        if top.is_dir()
        else []
    )
    for file in files:
        with file.open("rb") as stream:
            stream.seek(max(0, file.stat().st_size - MOST_BYTES))
            yield f"log/{file.relative_to(top)}", _clean(stream.read().decode("utf-8", "replace"))


def _below(path: Path) -> Iterator[tuple[str, Path]]:
    if path.is_file():
        yield path.name, path
        return
    for file in sorted(path.rglob("*")):
        if file.is_file() and not file.is_symlink():
            yield f"{path.resolve().name}/{file.relative_to(path)}", file


def _clean(text: str) -> bytes:
    from diag.redact import redacted

    return redacted(text, os.environ.get("HOME", ""), getpass.getuser(), platform.node()).encode()
