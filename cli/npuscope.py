"""The umbrella `npuscope`: every verb of every command under one name."""

from __future__ import annotations

import os
from typing import NoReturn

from cli.common import CliError, Verb, lazy_app, run
from cli.msprof import VERBS as MSPROF_VERBS

NATIVE = "Tools, with the options of the real ones"

VERBS = {
    **MSPROF_VERBS,
    "graph": Verb("cli.commands.graph:graph", "What atc made of a model: fusions, memory, predicted times.", "Read"),
    "diag": Verb("cli.npu_diag:app", "What is wrong with this host, this log, this error code.", "Diagnose"),
    "soc": Verb("cli.commands.soc:soc", "The chips that can be simulated, and what is known of one.", "Diagnose"),
    "smi": Verb("cli.npu_smi:main", "The device tool: the same as npu-smi.", NATIVE, native="npu-smi"),
    "atc": Verb("cli.atc:main", "The model converter: the same as atc.", NATIVE, native="atc"),
    "aoe": Verb("cli.aoe:main", "The tuning of operators: the same as aoe.", NATIVE, native="aoe"),
    "hccl": Verb("cli.hccl_test:main", "The benchmark of collectives: the same as hccl_test.", NATIVE, native="hccl_test"),
}

EXAMPLES = (
    ("npuscope run script.py", "record a pyACL script on the simulated NPU"),
    ("npuscope analyze PROF_000001_...", "why it is slow, and what a fix would gain"),
    ("npuscope diag error 507018", "what an error code means and what to do"),
    ("npuscope smi info", "the devices of this machine"),
)

HELP = "Profile and diagnose Ascend NPUs; without one, on a simulated CANN stack."


def version() -> str:
    """Package version, and what this machine is: the simulated devices, or a real driver."""
    from importlib.metadata import version as installed

    from cli.real_tool import real_driver, simulation_wanted
    from npu.driver.machine import Machine

    package = f"npuscope {installed('npuscope')}"
    if real_driver() and not simulation_wanted((), os.environ):
        return f"{package}, real NPUs (npu-smi info names them)"
    try:
        machine = Machine.of()
    except ValueError as error:
        raise CliError(str(error), "correct the variable, or unset it for the default machine") from error
    driver = f"driver {machine.driver_version}" if machine.driver_version else "no driver"
    return f"{package}, simulated: {machine.device_count} x {machine.soc}, {driver}"


def main() -> NoReturn:
    """The console script."""
    run("npuscope", lazy_app("npuscope", VERBS, HELP, EXAMPLES, version))
