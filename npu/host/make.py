"""Makes simulated hosts: folder trees with the files a real install has, as far as anybody reads them.

Beside the tree (install_files) lie env.txt (the shell's environment) and machine.json (what the simulated driver is told).
Numbers: data/host_versions.csv.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from npu.host import compat, tree
from npu.host.host import Host
from npu.host.install_files import BASE, classic, flat, kind_folder, links, write_driver, write_file
from npu.host.parts import Found
from npu.host.presets import PRESETS, Wanted, release, releases
from npu.host.read import driver_and_runtime, env_of
from npu.host.read import tree as read_tree

MACHINE, ENV = "machine.json", "env.txt"
SCHEMA = 1
DRIVER_FOLDERS = ("driver/lib64", "driver/lib64/common", "driver/lib64/driver")


def create(folder: Path, want: Wanted, layout: str, soc: str, devices: int) -> None:
    """Write the tree, its environment and the machine file into an empty folder."""
    for cann in want.canns:
        write = flat if layout == "cann" else classic
        write(folder, release("cann", cann), want, soc)
    links(folder, want, layout)
    if want.driver is not None:
        write_driver(folder, release("driver", want.driver), want, devices)
    if want.container:
        write_file(folder, "/.dockerenv", "")
    write_file(folder, "/etc/passwd", "root:x:0:0:root:/root:/bin/bash\nHwHiAiUser:x:1000:1000::/home/HwHiAiUser:/bin/bash\n")
    write_file(folder, f"/{ENV}", "".join(f"{k}={v}\n" for k, v in environment(want, layout).items()))
    describe(folder, soc, devices)


def describe(folder: Path, soc: str, devices: int) -> None:
    """Write machine.json from what the tree really holds and its environment really loads."""
    host = read(folder)
    driver, runtime = driver_and_runtime(host)
    found = host.found or Found()
    with_compiler = [i for i in found.installs if i.atc]
    toolkit = tree.newest(with_compiler)
    loaded = next((i for i in found.installs if i.version == runtime), None)
    fits = not (found.drivers and loaded) or compat.allowed(found.drivers[0], loaded) is not False
    in_force = next(
        (i for i in with_compiler for p in host.places or () if p.variable == "ASCEND_HOME_PATH" and p.version == i.version),
        toolkit,
    )
    facts = {
        "schema": SCHEMA, "soc": soc, "device_count": devices if driver else 0, "driver_version": driver or None,
        "firmware_version": found.firmware[0].version if found.firmware else "", "cann_version": runtime,
        "toolkit_version": in_force.version if in_force is not None else None, "driver_fits": fits,
    }  # fmt: skip
    write_file(folder, f"/{MACHINE}", json.dumps(facts, indent=1) + "\n")


def read(folder: Path) -> Host:
    """A made host as the checks read it."""
    file = folder / ENV
    env = env_of(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return read_tree(folder, env)


def built_in(folder: Path, soc: str, driver: str | None, devices: int) -> Path:
    """The default machine as a host: development, with the driver that is asked for where it is known."""
    want = PRESETS["development"]["classic"]
    known = driver is None or driver.lower() in releases("driver")
    create(folder, replace(want, driver=driver if known else want.driver), "classic", soc, devices)
    return folder


def environment(want: Wanted, layout: str) -> dict[str, str]:
    """What the install's set_env.sh sets, and what a careless line put before it (first_library)."""
    home = f"{BASE}/cann-{want.canns[0]}" if layout == "cann" else f"{BASE}/{kind_folder(want)}/latest"
    libraries = [f"{home}/lib64", f"{home}/lib64/plugin/opskernel", f"{home}/lib64/plugin/nnengine"]
    if want.first_library:
        old = (
            f"{BASE}/cann-{want.first_library}/lib64"
            if layout == "cann"
            else (f"{BASE}/{kind_folder(want)}/{want.first_library}/runtime/lib64")
        )
        libraries.insert(0, old)
    drivers = [f"{BASE}/{f}" for f in DRIVER_FOLDERS] if want.driver is not None else [f"{home}/devlib"]
    return {
        "HOME": "/root",
        "ASCEND_TOOLKIT_HOME": home,
        "ASCEND_HOME_PATH": home,
        "ASCEND_OPP_PATH": f"{home}/opp",
        "ASCEND_AICPU_PATH": home,
        "LD_LIBRARY_PATH": ":".join([*libraries, *drivers]),
        "PYTHONPATH": f"{home}/python/site-packages:{home}/opp/built-in/op_impl/ai_core/tbe",
        "PATH": f"{home}/bin:/usr/local/sbin:/usr/local/bin:/usr/bin",
    }


def versions_of(folder: Path) -> Mapping[str, object]:
    """The machine file of a host folder; empty when there is none or it is damaged."""
    try:
        facts = json.loads((folder / MACHINE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}
