"""What all commands share: the one place that prints errors, and verbs that are imported only when they are called.

Exit codes: 0 fine, 1 a problem was found (a command returns it), 2 wrong use, unreadable input or an error of ours,
130 interrupted, 141 the reader of our output went away.
"""

from __future__ import annotations

import difflib
import errno
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn, cast

from cli.terminal import Language, free_path, language, paint, written

if TYPE_CHECKING:
    import typer
    from typer.core import TyperGroup

    App = typer.Typer | TyperGroup | Callable[[list[str]], int]

__all__ = ["CliError", "Language", "Verb", "free_path", "language", "lazy_app", "near", "paint", "run", "written"]

DEBUG = "NPUSCOPE_DEBUG"  # 1 = show tracebacks; --debug sets it, so that child processes show theirs too
INTERRUPTED = 128 + 2  # as a shell reports SIGINT
PIPE_CLOSED = 128 + 13  # as a shell reports SIGPIPE

# import name of a package that comes with an extra -> the extra
EXTRAS = {
    "onnx": "sim", "onnx_ir": "sim", "onnxruntime": "sim", "PIL": "sim", "pyarrow": "arrow", "torch": "torch",
    "dask": "cluster", "distributed": "cluster", "prometheus_client": "exporter",
}  # fmt: skip


class CliError(Exception):
    """A refusal for the person at the terminal: `what` happened, what to do `next`, and the exit code."""

    def __init__(self, what: str, next: str, code: int = 2) -> None:
        super().__init__(what)
        self.what, self.next, self.code = what, next, code


@dataclass(frozen=True, slots=True)
class Verb:
    """One command of a group. Its module is imported when it is called or its own help is shown, not before.

    target: "module:name" of a command function, a Typer or a group. group: heading in the help, "" for the first one.
    native: the target is a `main()` that reads sys.argv itself; it gets everything after the verb, under `native` as its name.
    """

    target: str
    help: str
    group: str = ""
    native: str = ""


def lazy_app(
    prog: str,
    verbs: Mapping[str, Verb],
    help: str,
    examples: Sequence[tuple[str, str]] = (),
    version: Callable[[], str] | None = None,
) -> TyperGroup:
    """A group of verbs whose help comes from the table. examples: (command line, what it does), shown below the help.

    version: gives the line of --version; without it the option does not exist.
    """
    from cli.lazy import build

    return build(prog, verbs, help, examples, version)


def run(prog: str, app: App, argv: Sequence[str] | None = None) -> NoReturn:
    """Run a command and leave the process with its exit code: what a command returns, 0 for None.

    app: a group, a Typer, or a function that takes the arguments and returns the exit code (native forms).
    Every error becomes two lines on stderr, `prog: what happened` and `  next: what to do`.
    """
    sys.exit(_status(prog, app, list(sys.argv[1:] if argv is None else argv)))


def near(word: str, names: Sequence[str]) -> str:
    """The name closest to a mistyped word, or ""."""
    return next(iter(difflib.get_close_matches(word, names, 1)), "")


def _status(prog: str, app: App, arguments: list[str]) -> int:
    try:
        status = app(arguments) if isinstance(app, FunctionType) else _parsed(prog, app, arguments)
        sys.stdout.flush()
        return int(status)
    except KeyboardInterrupt:
        print(f"{prog}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has left. Python would flush once more at exit and complain: let it flush into nothing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except Exception as error:  # noqa: BLE001 - the one place that turns any error into two lines
        what, next, code = _told(prog, error)
        if os.environ.get(DEBUG, "0") not in ("", "0"):
            import traceback

            traceback.print_exception(error)
        print(f"{prog}: {_one_line(what)}\n  next: {_one_line(next)}", file=sys.stderr)
        return code


def _parsed(prog: str, app: Any, arguments: list[str]) -> int:
    import typer
    from typer.main import get_command

    command = get_command(app) if isinstance(app, typer.Typer) else app
    if f"_{prog}_COMPLETE".replace("-", "_").upper() in os.environ:
        command.main(prog_name=prog)  # answers the shell's completion request and exits
    try:
        with command.make_context(prog, arguments) as context:
            status = command.invoke(context)
    except typer.Exit as left:
        return left.exit_code
    except typer.Abort as left:
        raise KeyboardInterrupt from left
    return status if isinstance(status, int) else 0


def _told(prog: str, error: Exception) -> tuple[str, str, int]:
    """(what happened, what to do next, exit code) of any error."""
    if isinstance(error, CliError):
        return error.what, error.next, error.code
    known = _of_ours(error) or _missing_extra(error) or _of_a_path(error) or _wrong_use(prog, error)
    if known is not None:
        return *known, 2
    return (
        f"internal error: {type(error).__name__}: {error}",
        f"run it again with --debug (or {DEBUG}=1) to see where, and report it with that traceback",
        2,
    )


def _of_ours(error: Exception) -> tuple[str, str] | None:
    """Errors of the packages below. A module that was never imported cannot have raised its error: nothing is loaded here."""
    trace, om = sys.modules.get("profiler.trace"), sys.modules.get("npu.om")
    if trace is not None and isinstance(error, trace.Unreadable):
        return error.what, error.next
    if om is not None and isinstance(error, om.BadModel):
        return f"{error.path} is not a usable model: {error.reason}", "convert it again: atc --model=... --output=..."
    return None


def _missing_extra(error: Exception) -> tuple[str, str] | None:
    package = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if package not in EXTRAS:
        return None
    return f"this needs the Python package {package}, which is not installed", f"pip install 'npuscope[{EXTRAS[package]}]'"


def _of_a_path(error: Exception) -> tuple[str, str] | None:
    """An operating system's refusal that names a path (others are errors of ours)."""
    if not isinstance(error, OSError) or not isinstance(error.filename, str | bytes):
        return None
    path = os.fsdecode(error.filename)
    if isinstance(error, FileNotFoundError):
        folder = Path(path).absolute().parent
        listed = [p.name for p in folder.iterdir()] if folder.is_dir() and os.access(folder, os.R_OK) else []
        close = near(Path(path).name, listed)
        return f"no such file or folder: {path}", f"did you mean {Path(path).with_name(close)}?" if close else "check the path"
    if isinstance(error, PermissionError):
        return f"no permission for {path}", f"look at its owner and rights (ls -ld {path}), or run as the user who owns it"
    if isinstance(error, IsADirectoryError):
        return f"{path} is a folder, a file is needed", f"name a file in it (ls {path})"
    if isinstance(error, NotADirectoryError):
        return f"a part of {path} is a file, not a folder", "check the path"
    if error.errno == errno.ENOSPC:
        return f"no space left for {path}", "free some space (df -h), or write to another disk"
    return f"{error.strerror or type(error).__name__}: {path}", "check the path and the disk it lies on"


def _wrong_use(prog: str, error: Exception) -> tuple[str, str] | None:
    """A command line that could not be parsed: what is wrong with it, and how the command is used."""
    typer = sys.modules.get("typer")
    # typer 0.28 carries click inside, older ones import it: the grandparent of BadParameter is click's error in both.
    if typer is None or not isinstance(error, cast("type[Exception]", typer.BadParameter.__mro__[2])):
        return None
    problem: Any = error  # click's errors: format_message(), and from case to case ctx, option_name, possibilities
    what = problem.format_message().partition(" (Possible")[0].rstrip(".")
    context = getattr(problem, "ctx", None)
    path = context.command_path if context is not None else prog
    offered = getattr(problem, "possibilities", None)
    if offered:
        return what, f"did you mean {offered[0]}? {path} --help lists the options"
    if context is None:
        return what, f"{path} --help says how it is used"
    usage = context.get_usage().partition(":")[2].strip().replace("{", "").replace("}", "")  # typer's braces for "required"
    return what, f"use it as {usage} ({path} --help says more)"


def _one_line(text: str) -> str:
    """Blanks joined and control characters escaped: names of files and texts of errors come from anywhere."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(str(text).split()))
