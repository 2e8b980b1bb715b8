"""msprof whatif and compare: parsed, one call, printed; exit codes for CI; two lines for mistakes."""

from __future__ import annotations

import json

import pytest

import profiler
from cli.commands.compare import compare
from cli.commands.whatif import whatif
from cli.common import CliError
from profiler.trace import Trace
from tests.truth.machine import Machine, fused


def loop(own: float) -> Trace:
    machine = Machine()
    for _ in range(10):
        machine.execute(fused(20))
        machine.sync()
        machine.work(own)
    return machine.made.trace()


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> None:
    traces = {"fast": loop(20), "slow": loop(200)}
    monkeypatch.setattr(profiler, "open", lambda path: traces[path])


def test_whatif_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert whatif("slow", no_sync=True, op=["Conv*=0.5"]) is None
    text = capsys.readouterr().out
    assert "1. without waits" in text and "2. Conv* at 0.5 of its time" in text


def test_whatif_json(capsys: pytest.CaptureFixture[str]) -> None:
    whatif("slow", no_sync=True, op=["Conv2D=0"], json=True)
    made = json.loads(capsys.readouterr().out)
    assert [c["id"] for c in made["changes"]] == ["no-sync", "op"]
    assert made["parts"] == []


@pytest.mark.parametrize("text", ["Conv2D", "Conv2D=fast", "=0.5", "Conv2D=-1", "Conv2D=nan", "Conv2D=1e9"])
def test_bad_factors_are_refused(text: str) -> None:
    with pytest.raises(CliError) as refused:
        whatif("slow", op=[text])
    assert text in refused.value.what and "--op MatMul=0.5" in refused.value.next


def test_a_mistyped_operator_is_refused_with_the_right_one() -> None:
    with pytest.raises(CliError) as refused:
        whatif("slow", op=["Conv3D=0.5"])
    assert "did you mean Conv2D?" in refused.value.next


def test_no_change_is_refused() -> None:
    with pytest.raises(CliError, match="no change is asked for"):
        whatif("slow")


@pytest.mark.parametrize(("a", "b", "limit", "code"), [
    ("fast", "slow", None, 0), ("fast", "slow", "5%", 1), ("fast", "slow", "5", 1), ("fast", "slow", "900%", 0),
    ("slow", "fast", "5%", 0), ("fast", "fast", "0", 0),
])  # fmt: skip
def test_compare_exit_codes(a: str, b: str, limit: str | None, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(a, b, fail_above=limit) == code
    assert capsys.readouterr().out.startswith("A ")


def test_compare_forms(capsys: pytest.CaptureFixture[str]) -> None:
    compare("fast", "slow", markdown=True)
    assert capsys.readouterr().out.startswith("**B is slower: a step takes ")
    compare("fast", "slow", json=True)
    made = json.loads(capsys.readouterr().out)
    assert made["verdict"] == "slower" and made["wall"]["change"] > 0.3


def test_compare_refuses_what_it_does_not_understand() -> None:
    with pytest.raises(CliError, match="is no percentage"):
        compare("fast", "slow", fail_above="much")
    with pytest.raises(CliError, match="exclude each other"):
        compare("fast", "slow", markdown=True, json=True)
