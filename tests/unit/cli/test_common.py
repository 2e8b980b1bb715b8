"""The shell around every command: two lines for each error, exit codes, verbs imported when called."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli import terminal
from cli.common import CliError, Language, Verb, free_path, language, lazy_app, near, run

ROOT = Path(__file__).parents[3]

Done = subprocess.CompletedProcess[str]
Tool = Callable[..., Done]

COMMANDS = """
import typer

from cli.common import CliError

def fine(): print("done")
def found() -> int: return 1
def left(): raise typer.Exit(7)
def refuse(): raise CliError("the file is empty", "record again", 4)
def crash(): raise ValueError("a\\nb\\x1b[31m")
def stop(): raise KeyboardInterrupt
def read(path: str): open(path)
def folder(path: str): open(path, "w")
def extra(): import onnx_ir.nothing.like.this
def chatty():
    while True: print("line")
def script(words: list[str]): print(words)
app = typer.Typer(add_completion=False, rich_markup_mode=None)
@app.command(context_settings={"allow_interspersed_args": False})
def rest(words: list[str]): print(words)
"""

START = """
import sys
from cli.common import Verb, lazy_app, run
import table
run("tool", lazy_app("tool", table.VERBS, "A tool.", [("tool fine", "does it")], lambda: "tool 1"))
"""


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    """A command of its own in a folder, run as a child process."""
    (tmp_path / "commands.py").write_text(COMMANDS)
    (tmp_path / "broken.py").write_text("raise RuntimeError('imported')\n")
    names = [line.split("(")[0][4:] for line in COMMANDS.splitlines() if line.startswith("def ")]
    verbs = [f"  {n!r}: Verb('commands:{'app' if n == 'rest' else n}', 'Does {n}.')," for n in names]
    verbs.append("  'never': Verb('broken:f', 'Its module fails.', 'Others'),")
    (tmp_path / "table.py").write_text("from cli.common import Verb\nVERBS = {\n" + "\n".join(verbs) + "\n}\n")
    (tmp_path / "start.py").write_text(START)

    def call(*arguments: str, **environ: str) -> Done:
        env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", **environ}
        env.pop("NPUSCOPE_DEBUG", None) if "NPUSCOPE_DEBUG" not in environ else None
        return subprocess.run(
            [sys.executable, str(tmp_path / "start.py"), *arguments], capture_output=True, text=True, env=env, cwd=tmp_path
        )

    return call


def two_lines(done: Done) -> tuple[str, str]:
    first, second = done.stderr.splitlines()
    assert first.startswith("tool: ") and second.startswith("  next: ")
    return first.removeprefix("tool: "), second.removeprefix("  next: ")


@pytest.mark.parametrize(("verb", "status"), [("fine", 0), ("found", 1), ("left", 7)])
def test_exit_code_is_what_the_command_gives(tool: Tool, verb: str, status: int) -> None:
    done = tool(verb)
    assert (done.returncode, done.stderr) == (status, "")


def test_refusal_of_a_command(tool: Tool) -> None:
    done = tool("refuse")
    assert done.returncode == 4
    assert two_lines(done) == ("the file is empty", "record again")


def test_unexpected_error_is_two_lines_without_control_characters(tool: Tool) -> None:
    done = tool("crash")
    what, next = two_lines(done)
    assert done.returncode == 2
    assert what == "internal error: ValueError: a b\\x1b[31m"
    assert "--debug" in next and "NPUSCOPE_DEBUG=1" in next


@pytest.mark.parametrize("arguments", [("--debug", "crash"), ("crash", "--debug")])
def test_debug_shows_the_traceback(tool: Tool, arguments: tuple[str, ...]) -> None:
    done = tool(*arguments)
    assert "Traceback (most recent call last)" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("  next: ")


def test_debug_by_environment(tool: Tool) -> None:
    assert "Traceback" in tool("crash", NPUSCOPE_DEBUG="1").stderr
    assert "Traceback" not in tool("crash", NPUSCOPE_DEBUG="0").stderr


def test_debug_behind_a_script_belongs_to_the_script(tool: Tool) -> None:
    assert tool("rest", "script.py", "--debug").stdout == "['script.py', '--debug']\n"


def test_interruption_is_one_line(tool: Tool) -> None:
    done = tool("stop")
    assert (done.returncode, done.stderr) == (130, "tool: interrupted\n")


def test_missing_file_names_a_near_one(tool: Tool) -> None:
    what, next = two_lines(tool("read", "comands.py"))
    assert what == "no such file or folder: comands.py"
    assert next == "did you mean commands.py?"


def test_folder_where_a_file_is_needed(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    assert two_lines(tool("folder", "place"))[0] == "place is a folder, a file is needed"


def test_file_where_a_folder_is_needed(tool: Tool) -> None:
    assert two_lines(tool("read", "table.py/x"))[0] == "a part of table.py/x is a file, not a folder"


def test_missing_extra_is_the_pip_command(tool: Tool) -> None:
    assert two_lines(tool("extra"))[1] == "pip install 'npuscope[sim]'"


def test_unknown_command_suggests_a_near_one(tool: Tool) -> None:
    done = tool("fune")
    what, next = two_lines(done)
    assert done.returncode == 2
    assert what == "no command 'fune'"
    assert next == "did you mean tool fine? tool --help lists the commands"


def test_missing_argument_shows_the_usage(tool: Tool) -> None:
    what, next = two_lines(tool("read"))
    assert what.lower() == "missing argument 'path'"
    assert next == "use it as tool read [OPTIONS] path (tool read --help says more)".replace("path", what[-5:-1])


def test_unknown_option_suggests_a_near_one(tool: Tool) -> None:
    assert two_lines(tool("fine", "--debgu"))[1].startswith("did you mean --debug?")


def test_help_lists_verbs_by_group_and_imports_none(tool: Tool) -> None:
    done = tool("--help")
    assert done.returncode == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["fine", "Does", "fine."] in lines
    assert lines.index(["Others:"]) < lines.index(["never", "Its", "module", "fails."])
    assert "  tool fine  does it" in done.stdout


def test_without_a_command_the_help_and_two(tool: Tool) -> None:
    done = tool()
    assert done.returncode == 2
    assert done.stdout == tool("--help").stdout


def test_a_verbs_own_help_imports_it(tool: Tool) -> None:
    assert "imported" in tool("never", "--help").stderr
    assert tool("read", "--help").stdout.startswith("Usage: tool read [OPTIONS] ")


def test_version(tool: Tool) -> None:
    assert tool("--version").stdout == "tool 1\n"


def test_completion_of_verbs_imports_none(tool: Tool) -> None:
    done = tool(_TOOL_COMPLETE="complete_bash", COMP_WORDS="tool ne", COMP_CWORD="1")
    assert done.stdout.split() == ["never"]


def test_reader_that_leaves_is_no_error(tmp_path: Path, tool: Tool) -> None:
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    child = subprocess.Popen(
        [sys.executable, str(tmp_path / "start.py"), "chatty"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    )
    assert child.stdout is not None and child.stderr is not None
    child.stdout.readline()
    child.stdout.close()
    assert child.stderr.read() == b""
    assert child.wait() == 141
    child.stderr.close()


def status_of(error: Exception) -> int:
    def failing(_arguments: list[str]) -> int:
        raise error

    with pytest.raises(SystemExit) as left:
        run("tool", failing, [])
    return int(str(left.value.code))


def test_native_function_gets_the_arguments_and_gives_the_status() -> None:
    seen: list[str] = []

    def native(arguments: list[str]) -> int:
        seen.extend(arguments)
        return 5

    with pytest.raises(SystemExit) as left:
        run("tool", native, ["a", "--b"])
    assert (left.value.code, seen) == (5, ["a", "--b"])


def test_errors_of_the_packages_below(capsys: pytest.CaptureFixture[str]) -> None:
    from npu.om import BadModel
    from profiler.trace import Unreadable

    assert status_of(Unreadable("no trace in x", "give a PROF folder")) == 2
    assert capsys.readouterr().err == "tool: no trace in x\n  next: give a PROF folder\n"
    assert status_of(BadModel("m.om", "the file is empty")) == 2
    assert capsys.readouterr().err.startswith("tool: m.om is not a usable model: the file is empty\n  next: ")


def test_permission_and_full_disk(capsys: pytest.CaptureFixture[str]) -> None:
    status_of(PermissionError(13, "Permission denied", "/var/x"))
    assert capsys.readouterr().err.startswith("tool: no permission for /var/x\n  next: ")
    status_of(OSError(28, "No space left on device", "/var/x"))
    assert capsys.readouterr().err.startswith("tool: no space left for /var/x\n  next: ")


def test_an_oserror_without_a_path_is_ours(capsys: pytest.CaptureFixture[str]) -> None:
    status_of(OSError("nothing said"))
    assert capsys.readouterr().err.startswith("tool: internal error: OSError: nothing said\n")


@pytest.mark.parametrize(("environ", "expected"), [
    ({}, "en"), ({"LANG": "C"}, "en"), ({"LANG": "zh_CN.UTF-8"}, "zh"), ({"LANG": "zh_CN", "LC_ALL": "C"}, "en"),
    ({"LANG": "en_US", "LC_MESSAGES": "zh_TW"}, "zh"), ({"LC_ALL": "", "LANG": "zh"}, "zh"),
])  # fmt: skip
def test_language_follows_the_locale(environ: dict[str, str], expected: str) -> None:
    assert language(None, environ) == expected
    assert language(Language.zh, environ) == "zh"


def test_output_is_not_overwritten_without_force(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    assert free_path(path, "report.html", force=False) == path
    path.write_text("old")
    with pytest.raises(CliError, match="exists already"):
        free_path(path, "report.html", force=False)
    assert free_path(path, "report.html", force=True) == path
    with pytest.raises(CliError, match="the folder of"):
        free_path(tmp_path / "no" / "x", "x", force=False)


def test_output_has_a_predictable_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert free_path(None, "report.html", force=False) == Path("report.html")


class Screen:
    def __init__(self, terminal: bool) -> None:
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize(("screen", "environ", "expected"), [
    (True, {}, True), (True, {"NO_COLOR": ""}, True), (True, {"NO_COLOR": "1"}, False), (True, {"TERM": "dumb"}, False),
    (False, {}, False),
])  # fmt: skip
def test_colour_only_where_wanted(screen: bool, environ: dict[str, str], expected: bool) -> None:
    assert terminal.coloured(Screen(screen), environ) is expected  # type: ignore[arg-type]


def test_lines_are_folded_under_their_own_text() -> None:
    assert terminal.folded(["  1. one two three"], 12) == ["  1. one two", "     three"]
    assert terminal.folded(["Cause: a b c d"], 10) == ["Cause: a b", "  c d"]
    assert terminal.folded(["\x1b[1mCause: a b\x1b[0m c"], 10) == ["\x1b[1mCause: a b\x1b[0m", "  c"]  # colours take no room


def test_chinese_lines_are_folded_between_characters_and_never_before_a_closing_mark():
    """Each character takes two columns; words and commands stay whole."""
    assert terminal.folded(["错误: 设备打不开，请重启（EI0006、EI0002）。"], 20) == ["错误: 设备打不开，请", "  重启（EI0006、", "  EI0002）。"]
    assert terminal.folded(["  1. 设备网口断开"], 12) == ["  1. 设备网", "     口断开"]
    assert all(terminal.cells(line) <= 24 for line in terminal.folded(["  - 每台主机上的网口、地址和 TLS 状态 npu-smi info"], 24))


def test_near_word() -> None:
    assert near("analyse", ["analyze", "run"]) == "analyze"
    assert near("xyz", ["analyze", "run"]) == ""


def test_lazy_app_knows_its_verbs_without_importing_them() -> None:
    group = lazy_app("tool", {"a": Verb("no_such_module:f", "Help.")}, "A tool.")
    assert list(group.commands) == ["a"]
    assert group.commands["a"].get_short_help_str() == "Help."
