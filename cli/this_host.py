"""This host for `npu-diag check`: real where a driver is loaded, else the simulated one that is in use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from cli.common import CliError
from cli.real_tool import next_on_path, real_driver, simulation_wanted

if TYPE_CHECKING:
    from diag.seen import Seen
    from npu.driver.machine import Machine

TOOL_TIMEOUT, PROBE_TIMEOUT = 30, 60  # seconds; npu-smi needs up to 10 s on a server with sixteen devices
# Variables of the shell that hold on a simulated host as well; paths only when they lead into its installs.
PATHS = ("LD_LIBRARY_PATH", "PYTHONPATH", "ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_OPP_PATH", "ASCEND_AICPU_PATH")
PREFIXES = ("ASCEND_", "HCCL_", "ACL_", "TASK_QUEUE_", "PYTORCH_NPU_", "INF_NAN_", "MULTI_STREAM_")
STEPS = """
import json, sys
import acl
def step(name, answer):
    code = answer[-1] if isinstance(answer, tuple) else answer
    said = "" if code == 0 else str(acl.get_recent_err_msg() or "")
    print(json.dumps({"step": name, "code": code, "message": said}), flush=True)
    if code not in (0, 100002):
        sys.exit(1)
step("acl.init", acl.init())
step("acl.rt.set_device", acl.rt.set_device(0))
step("acl.rt.get_device", acl.rt.get_device())
step("acl.rt.reset_device", acl.rt.reset_device(0))
step("acl.finalize", acl.finalize())
"""


def is_real(environ: Mapping[str, str]) -> bool:
    return real_driver() and not simulation_wanted((), environ)


def look(environ: Mapping[str, str]) -> Seen:
    """Everything this host shows. Facts of a simulated machine are read from its folder, its devices from its device table."""
    from diag.seen import Seen, together
    from npu.host.read import here

    if is_real(environ):
        return together([Seen(here(environ)), *_real_tool()], "this host")
    return _simulated(environ)


def _real_tool() -> list[Seen]:
    """What the real npu-smi says, never ours."""
    from diag import smi_text
    from diag.seen import Seen
    from npu.host.host import Host

    tool = next_on_path("npu-smi")
    if tool is None:
        return [Seen(Host("npu-smi"), smi=smi_text.parse("bash: npu-smi: command not found\n"))]
    made = []
    for words in (("info",), ("info", "-m"), ("info", "-t", "topo")):
        try:
            done = subprocess.run(
                [tool, *words], capture_output=True, text=True, errors="replace", timeout=TOOL_TIMEOUT, check=False
            )
        except subprocess.TimeoutExpired:
            raise CliError(
                f"npu-smi {' '.join(words)} did not answer within {TOOL_TIMEOUT} s",
                "a device hangs: dmesg | tail -50, then reset the card or reboot",
                1,
            ) from None
        made.append(Seen(Host("npu-smi"), smi=smi_text.parse(done.stdout + done.stderr)))
    return made


def _simulated(environ: Mapping[str, str]) -> Seen:
    from diag.evidence.gather import of_tree
    from diag.seen import together
    from npu.driver.machine import Machine, host_folder
    from npu.host.make import built_in

    try:
        machine, folder = Machine.of(environ), host_folder(environ)
    except ValueError as error:
        raise CliError(str(error), "npu-diag host list names the hosts; or unset the variable") from error
    with TemporaryDirectory(prefix="npu-host-") as made:
        root = folder if folder is not None else built_in(Path(made), machine.soc, machine.driver_version, machine.device_count)
        own = (root / "env.txt").read_text(encoding="utf-8", errors="replace") if (root / "env.txt").is_file() else ""
        seen = together([*_devices(machine, environ), *of_tree(root, _environment(own, environ))], "")
    source = f"host {folder.name}" if folder is not None else "built-in host"
    return replace(seen, host=replace(seen.host, source=source, simulated=True))


def _environment(own: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The host's own environment, with what this shell sets on top."""
    from npu.host.read import env_of
    from npu.host.tree import base_of

    env = env_of(own)
    for name, value in environ.items():
        if name in PATHS:
            if any(base_of(part) or "/Ascend" in part for part in value.split(":")):
                env[name] = value
        elif name.startswith(PREFIXES):
            env[name] = value
    return env


def _devices(machine: Machine, environ: Mapping[str, str]) -> list[Seen]:
    """The device tool's answer on the simulated machine, read like any other."""
    from diag import smi_text
    from diag.seen import Seen
    from npu.driver.door import DriverError
    from npu.driver.machine import install_ended
    from npu.driver.query import snapshot
    from npu.host.host import Host
    from npu.smi import failures, layouts

    try:
        text = layouts.table(snapshot(environ), machine.tool_version, install_ended(environ))
    except DriverError as error:
        text = failures.start(failures.START.get(error.situation, failures.INNER))
    return [Seen(Host("npu-smi"), smi=smi_text.parse(text))] if text else []


def run_probe(seen: Seen) -> Seen:
    """Run the minimal program in a child: on a real machine with the real acl, else with ours. Which step failed, and how."""
    from diag.seen import Probed

    command = [sys.executable, "-c", STEPS]
    environ = dict(os.environ)
    if not is_real(environ):
        from npu.shim.launch import environment

        environ = environment(environ)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=PROBE_TIMEOUT, check=False, env=environ
        )
        out, err, late = done.stdout, done.stderr, False
    except subprocess.TimeoutExpired as ended:
        out, err, late = _text(ended.stdout), _text(ended.stderr), True
    steps = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    passed = tuple(s["step"] for s in steps if s["code"] in (0, 100002))
    failed = next((s for s in steps if s["code"] not in (0, 100002)), None)
    names = ("acl.init", "acl.rt.set_device", "acl.rt.get_device", "acl.rt.reset_device", "acl.finalize")
    if failed is not None:
        probed = Probed(passed, failed["step"], failed["code"], failed["message"])
    elif len(passed) < len(names):
        last = err.strip().splitlines()[-1:] or ["the program ended without a word"]
        told = f"no answer within {PROBE_TIMEOUT} s" if late else last[0]
        probed = Probed(passed, "import acl" if not passed and not late else names[len(passed)], None, told)
    else:
        probed = Probed(passed)
    return replace(seen, probed=probed)


def _text(data: bytes | str | None) -> str:
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else data or ""


def runtime_exports(seen: Seen) -> frozenset[str] | None:
    """Names of the acl functions this simulated host's runtime has; None for hosts whose libraries can be read themselves."""
    if not seen.host.simulated:
        return None
    from npu.acl.table import table

    return frozenset(f.c_name for f in table() if f.c_name)
