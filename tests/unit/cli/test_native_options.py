"""Options of the native msprof: the real spellings, the real lines for wrong ones, refusals by name and value."""

from __future__ import annotations

import pytest

from cli.native.options import Refused, known, parse, usage


def test_both_spellings_and_the_application_behind_them() -> None:
    given, application = parse(["--output=out", "--ascendcl", "on", "--sim", "python", "a.py", "--output=theirs", "--sim"])
    assert given == {"output": "out", "ascendcl": "on"}
    assert application == ["python", "a.py", "--output=theirs", "--sim"]


@pytest.mark.parametrize(("words", "line"), [
    (["--task-time=x"], "Argument --task-time: invalid value: x. Please input 'on', 'off', 'l0', 'l1' or 'l2'."),
    (["--output"], "Argument --output: expected one argument"),
    (["--output", "--export=on"], "Argument --output: expected one argument"),
    (["--output="], "Argument --output: expected one argument"),
    (["--aic-freq=101"], "Argument --aic-freq: invalid value: 101. Please input an integer from 1 to 100."),
    (["--storage-limit=100MB"],
     "Argument --storage-limit: invalid value: 100MB. Please input a size from 200MB to 4294967295MB."),
    (["--ouput=x"], "Argument --ouput: unrecognized option. Did you mean --output?"),
    (["--instr-profiling=on"],
     "Argument --instr-profiling: on is not available on the simulated NPU: instructions inside a kernel are not simulated."),
    (["--task-time=l2"], "Argument --task-time: l2 is not available on the simulated NPU: what l2 adds is not modelled."),
    (["--rule=all"], "Argument --rule: invalid value: all. Please input 'communication', 'communication_matrix' or "
     "'communication,communication_matrix'."),
    (["--aic-metrics=Custom:0x1"],
     "Argument --aic-metrics: Custom:0x1 is not available on the simulated NPU: events by number are not modelled."),
])  # fmt: skip
def test_wrong_or_unavailable_options(words: list[str], line: str) -> None:
    with pytest.raises(Refused) as said:
        parse(words)
    assert str(said.value) == line


def test_every_option_that_is_not_available_says_why() -> None:
    for option in known().values():
        if option.here not in ("*", option.values):
            assert option.why, option.name
        for value in filter(None, option.here.replace("*", "").split("|")):
            assert value in option.values.split("|"), option


def test_the_usual_command_line_of_the_manual_is_taken() -> None:
    line = (
        "--output=o --ascendcl=on --runtime-api=on --task-time=on --ai-core=on --aic-mode=task-based --type=text "
        "--aic-metrics=PipeUtilization --hccl=on --l2=off --aicpu=off python3 main.py"
    )
    assert parse(line.split())[1] == ["python3", "main.py"]


def test_usage_names_every_option() -> None:
    text = "\n".join(usage())
    assert all(f"--{name} " in text for name in known())
