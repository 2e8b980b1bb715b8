"""Makes simulated hosts: folder trees with the files a real install has, as far as anybody reads them.

Version files are written in their exact syntax; libraries and tools are placeholders that only mark presence. Beside the tree
lie env.txt (the shell's environment) and machine.json (what the simulated driver is told). Numbers: data/host_versions.csv.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from npu.host import compat, tree
from npu.host.host import Host
from npu.host.parts import Found
from npu.host.presets import PRESETS, Release, Wanted, release, releases
from npu.host.read import driver_and_runtime, env_of
from npu.host.read import tree as read_tree

BASE = "/usr/local/Ascend"
MACHINE, ENV = "machine.json", "env.txt"
SCHEMA = 1
TOOLKIT = ("runtime", "compiler", "hccl", "opp", "toolkit", "aoe", "ncs")
RUNTIME_ONLY = ("runtime", "opp", "hccl")
FLAT = ("runtime", "ge-executor", "hccl", "metadef", "opbase", "oam-tools", "ge-compiler", "bisheng-compiler", "asc-devkit")
FLAT_RUNTIME = FLAT[:5]
DRIVER_FOLDERS = ("driver/lib64", "driver/lib64/common", "driver/lib64/driver")
PLACEHOLDER = "placeholder\n"


def create(folder: Path, want: Wanted, layout: str, soc: str, devices: int) -> None:
    """Write the tree, its environment and the machine file into an empty folder."""
    for cann in want.canns:
        write = _flat if layout == "cann" else _classic
        write(folder, release("cann", cann), want, soc)
    _links(folder, want, layout)
    if want.driver is not None:
        _driver(folder, release("driver", want.driver), want, devices)
    if want.container:
        _file(folder, "/.dockerenv", "")
    _file(folder, "/etc/passwd", "root:x:0:0:root:/root:/bin/bash\nHwHiAiUser:x:1000:1000::/home/HwHiAiUser:/bin/bash\n")
    _file(folder, f"/{ENV}", "".join(f"{k}={v}\n" for k, v in environment(want, layout).items()))
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
    _file(folder, f"/{MACHINE}", json.dumps(facts, indent=1) + "\n")


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
    home = f"{BASE}/cann-{want.canns[0]}" if layout == "cann" else f"{BASE}/{_kind_folder(want)}/latest"
    libraries = [f"{home}/lib64", f"{home}/lib64/plugin/opskernel", f"{home}/lib64/plugin/nnengine"]
    if want.first_library:
        old = (
            f"{BASE}/cann-{want.first_library}/lib64"
            if layout == "cann"
            else (f"{BASE}/{_kind_folder(want)}/{want.first_library}/runtime/lib64")
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


def _kind_folder(want: Wanted) -> str:
    return "nnrt" if want.kind == "nnrt" else "ascend-toolkit"


def _classic(folder: Path, release: Release, want: Wanted, soc: str) -> None:
    home = f"{BASE}/{_kind_folder(want)}/{release.version}"
    names = RUNTIME_ONLY if want.kind == "nnrt" else TOOLKIT
    short = ".".join(release.inner.split(".")[:2])
    for name in names:
        requires = [f'required_package_{other}_version="{short}"' for other in names if other != name]
        _file(
            folder,
            f"{home}/{name}/version.info",
            _lines([f"Version={release.inner}", f"version_dir={release.version}", *requires]),
        )
    if want.kind == "toolkit":
        _file(folder, f"{home}/compiler/bin/atc", PLACEHOLDER)
        _file(folder, f"{home}/opp_kernel/version.info", _lines([f"Version={release.inner}", f"version_dir={release.version}"]))
    _libraries(folder, f"{home}/runtime/lib64")
    _link(folder, f"{home}/lib64", "runtime/lib64")
    _info(folder, f"{home}/{want.arch}-linux/ascend_{want.kind}_install.info", want.kind, release, want.arch, home)


def _flat(folder: Path, release: Release, want: Wanted, soc: str) -> None:
    home = f"{BASE}/cann-{release.version}"
    for name in FLAT if want.kind == "toolkit" else FLAT_RUNTIME:
        requires = [] if name == "runtime" else [f'required_package_runtime_version=">={release.version}"']
        version = [f"Version={release.inner}", f"version_dir=cann-{release.version}", *requires]
        _file(folder, f"{home}/share/info/{name}/version.info", _lines(version))
    _libraries(folder, f"{home}/lib64")
    (folder / f"{home}/opp".lstrip("/")).mkdir(parents=True, exist_ok=True)
    if want.kind == "toolkit":
        _file(folder, f"{home}/bin/atc", PLACEHOLDER)
        _info(folder, f"{home}/{want.arch}-linux/ascend_toolkit_install.info", "toolkit", release, want.arch, home)
        chip = _ops_chip(soc)
        ops = [f"package_name=Ascend-cann-{chip}-ops", f"version={release.version}", f"innerversion={release.branch}SPC001B250"]
        _file(folder, f"{home}/{want.arch}-linux/ascend_ops_install.info", _lines([*ops, f"arch={want.arch}", "os=linux"]))


def _ops_chip(soc: str) -> str:
    name = soc.removeprefix("Ascend")
    return "a3" if name.startswith("910_93") else next((p for p in ("910b", "310p", "310b") if name.lower().startswith(p)), "910")


def _info(folder: Path, path: str, kind: str, release: Release, arch: str, home: str) -> None:
    _file(
        folder,
        path,
        _lines(
            [
                f"package_name=Ascend-cann-{kind}",
                f"version={release.version}",
                f"innerversion={release.branch}SPC001B231",
                f"compatible_version={release.lists}",
                f"arch={arch}",
                "os=linux",
                f"path={home}/{arch}-linux",
            ]
        ),
    )


def _links(folder: Path, want: Wanted, layout: str) -> None:
    """`latest` or `cann`: what is in force."""
    if layout == "cann":
        _link(folder, f"{BASE}/cann", f"cann-{want.canns[0]}")
        _file(folder, f"{BASE}/cann/set_env.sh", "export ASCEND_HOME_PATH=/usr/local/Ascend/cann\n")
        return
    kind = _kind_folder(want)
    active = release("cann", want.canns[0])
    packages = RUNTIME_ONLY if want.kind == "nnrt" else (*TOOLKIT, "opp_kernel")
    for name in (*packages, "lib64", f"{want.arch}-linux"):
        _link(folder, f"{BASE}/{kind}/latest/{name}", f"../{active.version}/{name}")
    pair = f"[{active.inner}:{active.version}]"
    all_pairs = "".join(f"[{r.inner}:{r.version}]" for r in (release("cann", c) for c in reversed(want.canns)))
    rows = [
        f"{n}_{state}_version={pair if state != 'installed' else all_pairs}"
        for state in ("running", "upgrade", "installed")
        for n in packages
    ]
    _file(folder, f"{BASE}/{kind}/latest/version.cfg", _lines(["# version: 1.0", *rows]))
    _file(folder, f"{BASE}/{kind}/set_env.sh", f"export ASCEND_HOME_PATH={BASE}/{kind}/latest\n")


def _driver(folder: Path, release: Release, want: Wanted, devices: int) -> None:
    fields = [
        "ascendhal_version=7.35.23",
        "aicpu_version=1.0",
        "tdt_version=1.0",
        "log_version=1.0",
        "prof_version=2.0",
        "dvppkernels_version=1.1",
        "tsfw_version=1.0",
        f"Innerversion={release.branch}SPC001B226",
    ]
    series = ".".join(release.firmware.split(".")[:1])
    _file(
        folder,
        f"{BASE}/driver/version.info",
        _lines(
            [
                f"Version={release.version}",
                *fields,
                f"compatible_version={release.lists}",
                f"compatible_version_fw=[{series}.0.0,{series}.99.99]",
                f"package_version={release.version}",
            ]
        ),
    )
    for name in ("driver/libascend_hal.so", "common/libc_sec.so"):
        _file(folder, f"{BASE}/driver/lib64/{name}", PLACEHOLDER)
    record = [
        "Driver_Install_Type=full",
        "UserName=HwHiAiUser",
        "UserGroup=HwHiAiUser",
        f"Driver_Install_Path_Param={BASE}",
        "Driver_Install_For_All=yes",
        "Driver_Install_Mode=normal",
        "Driver_Install_Status=complete",
    ]
    if not want.container:
        train = ".".join(release.version.split(".")[:2])
        _file(
            folder,
            f"{BASE}/firmware/version.info",
            _lines(
                [
                    f"Version={release.firmware}",
                    "firmware_version=1.0",
                    f"package_version={release.version}",
                    f"compatible_version_drv=[{train},{train}.]",
                ]
            ),
        )
        record += ["Firmware_Install_Type=full", f"Firmware_Install_Path_Param={BASE}"]
    _file(folder, "/etc/ascend_install.info", _lines(record))
    for node in (*(f"davinci{n}" for n in range(devices)), "davinci_manager", "devmm_svm", "hisi_hdc"):
        _file(folder, f"/dev/{node}", "")


def _libraries(folder: Path, place: str) -> None:
    for name in ("libascendcl.so", "libruntime.so"):
        _file(folder, f"{place}/{name}", PLACEHOLDER)


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _file(folder: Path, path: str, text: str) -> None:
    place = folder / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


def _link(folder: Path, path: str, target: str) -> None:
    place = folder / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)


def versions_of(folder: Path) -> Mapping[str, object]:
    """The machine file of a host folder; empty when there is none or it is damaged."""
    try:
        facts = json.loads((folder / MACHINE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}
