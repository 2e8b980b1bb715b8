"""msprof analyze: one function call, printed as text or JSON, with an exit code for pipelines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import profiler
from cli.commands.analyze import Severity, analyze
from cli.common import run
from cli.msprof import main
from profiler.trace import Trace, Unreadable
from tests.truth.machine import Machine, fused


def slow_loop() -> Trace:
    machine = Machine()
    for _ in range(10):
        machine.execute(fused(40))
        machine.sync()
        machine.work(100)
    return machine.made.trace()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Trace:
    trace = slow_loop()
    monkeypatch.setattr(profiler, "open", lambda path: trace)
    return trace


def test_text(opened: Trace, capsys: pytest.CaptureFixture[str]) -> None:
    assert analyze("somewhere") == 0
    text = capsys.readouterr().out
    assert "1. critical  The host waits after every submission  [sync-every-submit]" in text
    assert "   at: loop.py:8" in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_json_with_the_parts_of_other_ranks(opened: Trace, capsys: pytest.CaptureFixture[str]) -> None:
    opened.parts.append(slow_loop())
    assert analyze("somewhere", json=True) == 0
    made = json.loads(capsys.readouterr().out)
    assert [f["id"] for f in made["findings"]] == ["sync-every-submit"]
    assert [f["id"] for f in made["parts"][0]["findings"]] == ["sync-every-submit"]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("all_reduce", "--bench all_reduce: no operation with a file"),
        ("=x.txt", "--bench =x.txt: no operation with a file"),
        ("all_reduce=nowhere.txt", "nowhere.txt cannot be read: No such file or directory"),
    ],
)
def test_a_wrong_benchmark_is_two_lines(option: str, said: str, opened: Trace, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        run("msprof", lambda _: analyze("somewhere", bench=[option]), [])
    assert left.value.code == 2
    text = capsys.readouterr().err
    assert said in text and "next:" in text


def test_a_benchmark_reaches_every_part(opened: Trace, tmp_path: Path) -> None:
    opened.parts.append(slow_loop())
    (tmp_path / "bench.txt").write_text("1048576 | 20.50 | 51.2 | success\n")
    analyze("somewhere", bench=[f"all_reduce={tmp_path / 'bench.txt'}"])
    assert [t.meta["bench"] for t in (opened, *opened.parts)] == [{"allreduce": ((1_048_576, 20_500),)}] * 2


@pytest.mark.parametrize(("least", "code"), [(Severity.note, 1), (Severity.critical, 1), (None, 0)])
def test_fail_on(opened: Trace, least: Severity | None, code: int) -> None:
    assert analyze("somewhere", fail_on=least) == code


def test_fail_on_something_worse_than_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine()
    machine.execute(fused(4))
    monkeypatch.setattr(profiler, "open", lambda path: machine.made.trace())
    assert analyze("somewhere", fail_on=Severity.note) == 0


def test_unreadable_input_is_two_lines_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(path: str) -> Trace:
        raise Unreadable("nothing here looks like a profile", "name a PROF folder")

    monkeypatch.setattr(profiler, "open", refuse)
    with pytest.raises(SystemExit) as left:
        run("msprof", lambda arguments: analyze(arguments[0]), ["somewhere"])
    assert left.value.code == 2
    assert capsys.readouterr().err == "msprof: nothing here looks like a profile\n  next: name a PROF folder\n"


def test_the_command_is_registered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["msprof", "analyze", "--help"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 0
    assert "--fail-on" in capsys.readouterr().out
