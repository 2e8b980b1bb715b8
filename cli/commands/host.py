"""`npu-diag host`: make, list, choose and show simulated hosts."""

from __future__ import annotations

import json as json_text
import os
import re
import shutil
from pathlib import Path

import typer

from cli.common import CliError, near
from cli.lazy import SETTINGS
from cli.options import Force, Json

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
DEFAULT = "default"

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings=SETTINGS,
    help="Make, list, choose and show simulated hosts.",
)


@app.command()
def create(
    name: str = typer.Argument(help="Name of the new host."),
    preset: str = typer.Option(
        "development",
        "--preset",
        help="development, production (runtime only), container, no-driver, mixed, toolkit-newer, old-driver.",
    ),
    layout: str = typer.Option("classic", "--layout", help="classic (up to 8.3) or cann (from 8.5 on)."),
    cann: str = typer.Option("", "--cann", help="Another CANN version than the preset's.", show_default=False),
    driver: str = typer.Option("", "--driver", help="Another driver version, or none.", show_default=False),
    soc: str = typer.Option("Ascend910B3", "--soc", help="Chip."),
    devices: int = typer.Option(8, "--devices", min=0, max=16, help="How many devices."),
    force: Force = False,
) -> int:
    """Make a simulated host: a folder tree with both versions and environment."""
    from npu import soc as chips
    from npu.host.make import create as make
    from npu.host.presets import CannotMake, wanted

    if not NAME.fullmatch(name) or name == DEFAULT:
        raise CliError(f"{name!r} cannot be the name of a host", "take letters, digits, dots, dashes and underscores")
    try:
        chip = chips.find(soc).name
        want = wanted(preset, layout, cann, driver)
    except KeyError:
        raise CliError(f"no chip {soc!r}", f"known are {', '.join(chips.table())}") from None
    except CannotMake as error:
        raise CliError(error.what, error.next) from error
    folder = _hosts() / name
    if folder.exists():
        if not force:
            raise CliError(f"the host {name} exists already", "add --force to make it anew, or take another name")
        if not (folder / "machine.json").is_file():
            raise CliError(f"{folder} is no simulated host of ours", "remove it yourself, or take another name")
        shutil.rmtree(folder)
    make(folder, want, layout, chip, devices)
    print(f"written: {folder}")
    print(f"use it: NPU_HOST={name} <command>, or for all commands: npu-diag host use {name}")
    return 0


@app.command("list")
def list_hosts(json: Json = False) -> int:
    """Name the simulated hosts; a star marks the one in use."""
    from npu.host.make import versions_of

    chosen = _chosen()
    found = [{"name": f.name, "in_use": f.name == chosen, **versions_of(f)} for f in _all()]
    if json:
        print(json_text.dumps({"schema": 1, "tool": "npu-diag host list", "hosts": found}, ensure_ascii=False, indent=2))
        return 0
    for host in found:
        print(f"{'*' if host['in_use'] else ' '} {host['name']:<20} {_said(host)}")
    print(f"{' ' if chosen else '*'} {'(built in)':<20} the default machine, without a folder")
    return 0


@app.command()
def use(name: str = typer.Argument(help="Name of a host, or `built-in` for the default machine.")) -> int:
    """Choose the host that all simulated commands run on; NPU_HOST goes before it."""
    mark = _hosts() / DEFAULT
    if name == "built-in":
        mark.unlink(missing_ok=True)
        print("in use: the built-in default machine")
        return 0
    folder = _folder(name)
    mark.write_text(f"{folder.name}\n", encoding="utf-8")
    print(f"in use: {folder.name}")
    if os.environ.get("NPU_HOST"):
        print(f"note: NPU_HOST={os.environ['NPU_HOST']} is set in this shell and goes before it")
    return 0


@app.command()
def show(
    name: str = typer.Argument("", help="Name of a host; default the one in use.", show_default=False), json: Json = False
) -> int:
    """Show a host: its folder, its versions, its environment."""
    from npu.host.make import versions_of

    chosen = name or _chosen()
    if not chosen:
        from cli.npuscope import version

        print(f"the built-in default machine: {version()}")
        return 0
    folder = _folder(chosen)
    facts = versions_of(folder)
    env = (folder / "env.txt").read_text(encoding="utf-8") if (folder / "env.txt").is_file() else ""
    if json:
        told = {"schema": 1, "tool": "npu-diag host show", "name": folder.name, "folder": str(folder), **facts}
        print(json_text.dumps(told, ensure_ascii=False, indent=2))
        return 0
    print(f"{folder.name}: {_said(facts)}")
    print(f"folder: {folder}")
    print(env, end="")
    return 0


def _hosts() -> Path:
    from npu.driver.host_file import hosts_folder

    folder = hosts_folder(os.environ)
    if folder is None:
        raise CliError("neither NPU_STATE_DIR nor HOME is set: there is no place for hosts", "export NPU_STATE_DIR=<folder>")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _all() -> list[Path]:
    return [f for f in sorted(_hosts().iterdir()) if (f / "machine.json").is_file()]


def _chosen() -> str:
    """Name or path of the host in use, "" for the built-in machine."""
    from npu.driver.host_file import host_folder

    try:
        folder = host_folder(os.environ)
    except ValueError as error:
        raise CliError(str(error), "npu-diag host list names the hosts; npu-diag host use built-in, or unset NPU_HOST") from error
    if folder is None:
        return ""
    return folder.name if folder.parent == _hosts() else str(folder)


def _folder(name: str) -> Path:
    folder = Path(name) if "/" in name else _hosts() / name
    if not (folder / "machine.json").is_file():
        names = [f.name for f in _all()]
        close = near(name, names)
        hint = (
            f"did you mean {close}?" if close else f"hosts: {', '.join(names) or 'none yet; make one: npu-diag host create NAME'}"
        )
        raise CliError(f"no host {name!r}", hint)
    return folder


def _said(facts: object) -> str:
    """Driver, runtime, converter and devices of a machine file."""
    known = facts if isinstance(facts, dict) else {}
    driver = known.get("driver_version") or "none"
    toolkit = known.get("toolkit_version")
    note = "" if known.get("driver_fits", True) else ", driver and CANN do not match"
    return (
        f"driver {driver}, runtime {known.get('cann_version') or 'none'}, "
        f"{f'toolkit {toolkit}' if toolkit else 'no toolkit'}, {known.get('device_count', 0)} x {known.get('soc', '?')}{note}"
    )
