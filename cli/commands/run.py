"""`msprof run`: start a script with the recorder on, pass everything through, export and summarise at its end."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from cli import ranks, real_tool, record
from cli.common import CliError
from cli.native.options import storage_limit as bytes_of
from profiler.record.collection import Collection

CLOCKS = ("hybrid", "model", "realtime")

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(context_settings={"allow_interspersed_args": False})
def run(
    command: Annotated[
        list[str], typer.Argument(metavar="SCRIPT [ARGS]...", help="A Python script (or a program) and its arguments.")
    ],
    output: Annotated[Path, typer.Option(help="Folder that the PROF_* folders are written into.")] = Path("."),
    clock: Annotated[
        str,
        typer.Option(
            help="hybrid: your code's real time counts (default); model: it counts zero, two runs give "
            "the same tables; realtime: really waits."
        ),
    ] = "",
    soc: Annotated[str, typer.Option(help="Simulated chip, for example Ascend910B3 or Ascend310P3.")] = "",
    aic_metrics: Annotated[
        str, typer.Option(help="Group of counters the files show, as of the real msprof (default PipeUtilization).")
    ] = "",
    nproc: Annotated[
        int, typer.Option(min=0, help="Ranks of a job: as many processes, each with RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR.")
    ] = 0,
    master_port: Annotated[int, typer.Option(min=0, max=65535, help="MASTER_PORT of the job, 0: a free one.")] = 0,
    stacks: Annotated[bool, typer.Option("--stacks", help="Record the whole Python stack of each call.")] = False,
    storage_limit: Annotated[
        str, typer.Option(metavar="SIZE", help="Most a capture may take on disk, 200MB or more; beyond it the oldest data goes.")
    ] = "",
    sim: Annotated[bool, typer.Option("--sim", help="Simulate also on a machine with a real driver.")] = False,
    check_hazards: Annotated[
        bool, typer.Option("--check-hazards", help="Look for accesses to memory that nothing orders (simulation only; slower).")
    ] = False,
    summary: Annotated[bool, typer.Option(help="Print the findings on stderr at the end.")] = True,
) -> int:
    """Run a pyACL script unmodified on the simulated NPU, record every call, task, copy and kernel, export and summarise.

    The script's output and exit code are passed through; options of msprof stand before the script. On a machine with a
    real driver the script runs on the real NPU: its calls are recorded, and the real msprof collects from the device.
    """
    words = record.command_line(command)
    collection = Collection(known_metrics(aic_metrics), stacks=stacks, storage_limit=limit(storage_limit))
    if real_tool.real_driver() and not sim and not real_tool.simulation_wanted((), os.environ):
        words, environment = record.around_real_tool(words, output), _real(clock, soc, aic_metrics, check_hazards)
    else:
        real_tool.say_simulated(record.TOOL)
        environment = simulated(clock, soc) | ({"NPU_HAZARDS": "1"} if check_hazards else {})
    record.make_folder(output)
    environment = record.with_recorder(environment, output, collection)
    if nproc:
        ranks.check(nproc, environment)
        status, made = ranks.run(words, environment, output, nproc, master_port)
    else:
        status, made = record.record(words, environment, output)
    record.finish(made, command[0], summary)
    if check_hazards:
        record.say_hazards(made)
    return status


def simulated(clock: str = "", soc: str = "") -> dict[str, str]:
    """The environment of the simulated stack. CliError for a clock or chip that does not exist."""
    from npu.shim.launch import environment
    from npu.soc import FILES, find, table

    if clock and clock not in CLOCKS:
        raise CliError(f"--clock={clock} does not exist", f"choose one of {', '.join(CLOCKS)}")
    if soc:
        try:
            found = find(soc)
        except KeyError:
            raise CliError(f"--soc={soc} is no known chip", f"known are {', '.join(table())}") from None
        except ValueError as error:
            raise CliError(str(error), "correct the file; npuscope soc NAME --json shows the columns") from error
        soc = str(Path(soc).absolute()) if soc.endswith(FILES) else found.name
    return environment(os.environ, clock or None, soc or None)


def known_metrics(name: str) -> str:
    """The group of counters, or "" for the default. CliError for one that does not exist."""
    if not name:
        return ""
    from npu.cost.counter_groups import NAMES

    if name not in NAMES:
        raise CliError(f"--aic-metrics={name} does not exist", f"choose one of {', '.join(NAMES)}")
    return name


def limit(text: str) -> int:
    """Bytes of --storage-limit, 0 without one. CliError for a text that is no size."""
    found = bytes_of(text) if text else 0
    if found is None:
        raise CliError(f"--storage-limit={text} is no size", "give a whole number of MB from 200MB on, for example 500MB")
    return found


def _real(clock: str, soc: str, metrics: str, hazards: bool) -> dict[str, str]:
    from npu.shim.launch import recording_real

    for option, value in (("--clock", clock), ("--soc", soc), ("--aic-metrics", metrics), ("--check-hazards", hazards)):
        if value:
            raise CliError(f"{option} belongs to the simulation, and this machine has a real driver", "add --sim to simulate")
    return recording_real(os.environ)
