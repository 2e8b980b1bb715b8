"""The files of a made install: version files in their exact syntax, libraries and tools as placeholders that mark presence."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from npu.host.presets import Release, Wanted, release

BASE = "/usr/local/Ascend"
TOOLKIT = ("runtime", "compiler", "hccl", "opp", "toolkit", "aoe", "ncs")
RUNTIME_ONLY = ("runtime", "opp", "hccl")
FLAT = ("runtime", "ge-executor", "hccl", "metadef", "opbase", "oam-tools", "ge-compiler", "bisheng-compiler", "asc-devkit")
FLAT_RUNTIME = FLAT[:5]
PLACEHOLDER = "placeholder\n"


def kind_folder(want: Wanted) -> str:
    """The folder of an install below BASE, by what was wanted."""
    return "nnrt" if want.kind == "nnrt" else "ascend-toolkit"


def classic(folder: Path, release: Release, want: Wanted, soc: str) -> None:
    """One CANN install in the layout before 8.5: a folder a package. folder: the root of the tree."""
    home = f"{BASE}/{kind_folder(want)}/{release.version}"
    names = RUNTIME_ONLY if want.kind == "nnrt" else TOOLKIT
    short = ".".join(release.inner.split(".")[:2])
    for name in names:
        requires = [f'required_package_{other}_version="{short}"' for other in names if other != name]
        write_file(
            folder,
            f"{home}/{name}/version.info",
            _lines([f"Version={release.inner}", f"version_dir={release.version}", *requires]),
        )
    if want.kind == "toolkit":
        write_file(folder, f"{home}/compiler/bin/atc", PLACEHOLDER)
        write_file(
            folder, f"{home}/opp_kernel/version.info", _lines([f"Version={release.inner}", f"version_dir={release.version}"])
        )
    _libraries(folder, f"{home}/runtime/lib64")
    _link(folder, f"{home}/lib64", "runtime/lib64")
    _info(folder, f"{home}/{want.arch}-linux/ascend_{want.kind}_install.info", want.kind, release, want.arch, home)


def flat(folder: Path, release: Release, want: Wanted, soc: str) -> None:
    """The same in the layout from 8.5 on: all packages in one folder cann-VERSION."""
    home = f"{BASE}/cann-{release.version}"
    for name in FLAT if want.kind == "toolkit" else FLAT_RUNTIME:
        requires = [] if name == "runtime" else [f'required_package_runtime_version=">={release.version}"']
        version = [f"Version={release.inner}", f"version_dir=cann-{release.version}", *requires]
        write_file(folder, f"{home}/share/info/{name}/version.info", _lines(version))
    _libraries(folder, f"{home}/lib64")
    (folder / f"{home}/opp".lstrip("/")).mkdir(parents=True, exist_ok=True)
    if want.kind == "toolkit":
        write_file(folder, f"{home}/bin/atc", PLACEHOLDER)
        _info(folder, f"{home}/{want.arch}-linux/ascend_toolkit_install.info", "toolkit", release, want.arch, home)
        chip = _ops_chip(soc)
        ops = [f"package_name=Ascend-cann-{chip}-ops", f"version={release.version}", f"innerversion={release.branch}SPC001B250"]
        write_file(folder, f"{home}/{want.arch}-linux/ascend_ops_install.info", _lines([*ops, f"arch={want.arch}", "os=linux"]))


def _ops_chip(soc: str) -> str:
    name = soc.removeprefix("Ascend")
    return "a3" if name.startswith("910_93") else next((p for p in ("910b", "310p", "310b") if name.lower().startswith(p)), "910")


def _info(folder: Path, path: str, kind: str, release: Release, arch: str, home: str) -> None:
    write_file(
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


def links(folder: Path, want: Wanted, layout: str) -> None:
    """`latest` or `cann`: what is in force."""
    if layout == "cann":
        _link(folder, f"{BASE}/cann", f"cann-{want.canns[0]}")
        write_file(folder, f"{BASE}/cann/set_env.sh", "export ASCEND_HOME_PATH=/usr/local/Ascend/cann\n")
        return
    kind = kind_folder(want)
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
    write_file(folder, f"{BASE}/{kind}/latest/version.cfg", _lines(["# version: 1.0", *rows]))
    write_file(folder, f"{BASE}/{kind}/set_env.sh", f"export ASCEND_HOME_PATH={BASE}/{kind}/latest\n")


def write_driver(folder: Path, release: Release, want: Wanted, devices: int) -> None:
    """Driver and, outside of containers, firmware: version files, install record, device nodes."""
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
    series = release.firmware.split(".")[0]
    write_file(
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
        write_file(folder, f"{BASE}/driver/lib64/{name}", PLACEHOLDER)
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
        write_file(
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
    write_file(folder, "/etc/ascend_install.info", _lines(record))
    for node in (*(f"davinci{n}" for n in range(devices)), "davinci_manager", "devmm_svm", "hisi_hdc"):
        write_file(folder, f"/dev/{node}", "")


def _libraries(folder: Path, place: str) -> None:
    for name in ("libascendcl.so", "libruntime.so"):
        write_file(folder, f"{place}/{name}", PLACEHOLDER)


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def write_file(folder: Path, path: str, text: str) -> None:
    """A text file at an absolute path of the tree; its folders are made."""
    place = folder / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


def _link(folder: Path, path: str, target: str) -> None:
    place = folder / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)
