"""Finds what is installed on a host: driver, firmware and every CANN install, in the classic layout and that from 8.5 on."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping

from npu.host.files import Files
from npu.host.parts import Cfg, Component, Driver, Extra, Firmware, Found, Install
from npu.host.versions import branch, key_values, name_values, newer, ranges, version_cfg

ROOT_BASE = "/usr/local/Ascend"
RC_BASE = "/var/davinci"  # boards without a PCIe host keep their driver here
RECORD = "/etc/ascend_install.info"
CLASSIC = {"ascend-toolkit": "toolkit", "nnrt": "nnrt", "nnae": "nnae"}
KINDS = ("toolkit", "nnrt", "nnae")
EXTRAS = ("nnal/atb/latest", "nnal/asdsip/latest", "mindie/latest")
ATC = ("bin/atc", "compiler/bin/atc", "aarch64-linux/bin/atc", "x86_64-linux/bin/atc")
MOST_ENTRIES = 400  # folders looked at below one base


def find(files: Files, env: Mapping[str, str] | None = None) -> Found:
    """Everything under the usual bases, those the environment points to, and the one the install record names."""
    text = files.read(RECORD)
    record = None if text is None else key_values(text)
    drivers: list[Driver] = []
    firmware: list[Firmware] = []
    installs: dict[str, Install] = {}
    extras: list[Extra] = []
    cfg: dict[str, Cfg] = {}
    for base in bases(files, env or {}, record or {}):
        drivers += _driver(files, f"{base}/driver")
        firmware += _firmware(files, f"{base}/firmware")
        for folder in _folders(files, base, cfg):
            if folder not in installs:
                made = _install(files, folder)
                if made is not None:
                    installs[folder] = made
        for place in EXTRAS:
            extras += _extra(files, f"{base}/{place}")
    firmware += _firmware(files, "/fw")
    once = {d.path: d for d in drivers}, {f.path: f for f in firmware}
    return Found(tuple(once[0].values()), tuple(once[1].values()), tuple(installs.values()), tuple(extras), cfg, record)


def bases(files: Files, env: Mapping[str, str], record: Mapping[str, str]) -> list[str]:
    """Folders that may hold installs, the root install's first."""
    named = [record.get(n, "") for n in ("driver_install_path_param", "firmware_install_path_param")]
    homes = [f"/home/{user}/Ascend" for user in files.names("/home")[:MOST_ENTRIES]]
    home = env.get("HOME", "")
    places = [ROOT_BASE, RC_BASE, *named, *([f"{home}/Ascend"] if home else []), "/root/Ascend", *homes]
    for variable in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        places.append(base_of(env.get(variable, "")))
    seen: dict[str, None] = {}
    for place in places:
        if place.startswith("/"):
            real = files.real(place)
            if real != "/" and files.folder(real):
                seen.setdefault(real)
    return list(seen)


def base_of(path: str) -> str:
    """The base a path into an install lies under: /opt/Ascend for /opt/Ascend/ascend-toolkit/latest; "" for no such path."""
    parts = path.rstrip("/").split("/")
    for at, part in enumerate(parts):
        if part in CLASSIC or part == "cann" or part.startswith(("cann-", "cann_")):
            return "/".join(parts[:at])
    return ""


def _folders(files: Files, base: str, cfg: dict[str, Cfg]) -> Iterable[str]:
    """Real folders of installs under a base; version.cfg files met on the way go to cfg."""
    for name in files.names(base)[:MOST_ENTRIES]:
        if name in CLASSIC:
            for inner in files.names(f"{base}/{name}")[:MOST_ENTRIES]:
                text = files.read(f"{base}/{name}/{inner}/version.cfg")
                if text is not None:
                    cfg[files.real(f"{base}/{name}/{inner}")] = version_cfg(text)
                elif files.folder(f"{base}/{name}/{inner}"):
                    yield files.real(f"{base}/{name}/{inner}")
        elif name == "cann" or name.startswith(("cann-", "cann_")):
            yield files.real(f"{base}/{name}")


def _install(files: Files, folder: str) -> Install | None:
    info, kind, arch = _info(files, folder)
    values = key_values(files.read(info) or "") if info else {}
    flat = files.names(f"{folder}/share/info")
    places = [(n, f"{folder}/share/info/{n}/version.info") for n in flat] or [
        (n, f"{folder}/{n}/version.info") for n in files.names(folder)[:MOST_ENTRIES]
    ]
    components = [c for name, file in places if (c := _component(files, name, file)) is not None]
    runtime = next((c for c in components if c.name == "runtime"), components[0] if components else None)
    if not info and runtime is None:
        return None
    spelled = posixpath.basename(folder).removeprefix("cann-").removeprefix("cann_")
    parent = posixpath.basename(posixpath.dirname(folder))
    return Install(
        kind=kind or CLASSIC.get(parent, "toolkit"),
        layout="cann" if flat or parent not in CLASSIC else "classic",
        path=folder,
        version=values.get("version", "") or spelled,
        inner=runtime.version if runtime else "",
        branch=branch(values.get("innerversion", "")),
        lists=ranges(values.get("compatible_version", "")),
        arch=values.get("arch", "") or arch,
        components=tuple(components),
        atc=any(files.exists(f"{folder}/{a}") for a in ATC),
        kernels=tuple(_kernels(files, folder)),
        file=info or (runtime.file if runtime else ""),
    )


def _info(files: Files, folder: str) -> tuple[str, str, str]:
    """(install file, kind, architecture). The file of the operator package is no install file of the whole."""
    for inside in ("", *(n for n in files.names(folder) if n.endswith("-linux"))):
        place = f"{folder}/{inside}" if inside else folder
        for name in files.names(place):
            for kind in KINDS:
                if name == f"ascend_{kind}_install.info":
                    return f"{place}/{name}", kind, inside.removesuffix("-linux")
    return "", "", ""


def _component(files: Files, name: str, file: str) -> Component | None:
    text = files.read(file)
    if text is None:
        return None
    values = key_values(text)
    prefix, suffix = "required_package_", "_version"
    requires = {k.removeprefix(prefix).removesuffix(suffix): v.strip('"') for k, v in values.items() if k.startswith(prefix)}
    version = values.get("version", "")
    return Component(name, version, requires, file) if version else None


def _kernels(files: Files, folder: str) -> Iterable[tuple[str, str]]:
    """Operator binaries: opp_kernel of the classic layout, the ops package of the chip from 8.5 on."""
    text = files.read(f"{folder}/opp_kernel/version.info")
    if text is not None:
        values = key_values(text)
        yield "", values.get("version_dir", "") or values.get("version", "")
    for inside in (n for n in files.names(folder) if n.endswith("-linux")):
        values = key_values(files.read(f"{folder}/{inside}/ascend_ops_install.info") or "")
        if values:
            chip = values.get("package_name", "").removeprefix("Ascend-cann-").removesuffix("-ops")
            yield chip, values.get("version", "")


def driver_of(text: str, path: str = "", file: str = "") -> Driver | None:
    """A driver from the text of its version.info; None without a version."""
    values = key_values(text)
    version = values.get("version", "")
    if not version:
        return None
    return Driver(
        path,
        version,
        branch(values.get("innerversion", "")),
        ranges(values.get("compatible_version", "")),
        ranges(values.get("compatible_version_fw", "")),
        values.get("package_version", ""),
        file,
    )


def firmware_of(text: str, path: str = "", file: str = "") -> Firmware | None:
    """A firmware from the text of its version.info; None without a version."""
    values = key_values(text)
    version = values.get("version", "")
    if not version:
        return None
    return Firmware(path, version, values.get("package_version", ""), ranges(values.get("compatible_version_drv", "")), file)


def install_of(text: str, path: str = "") -> Install | None:
    """An install from the text of its ascend_*_install.info alone; None when it is none."""
    values = key_values(text)
    package, version = values.get("package_name", ""), values.get("version", "")
    kind = package.rpartition("-")[2]
    if kind not in KINDS or not version:
        return None
    folder = values.get("path", "") or path
    return Install(
        kind,
        "cann" if "/cann" in folder else "classic",
        folder.removesuffix(f"/{values.get('arch', '')}-linux"),
        version,
        branch=branch(values.get("innerversion", "")),
        lists=ranges(values.get("compatible_version", "")),
        arch=values.get("arch", ""),
        file=path,
    )


def _driver(files: Files, folder: str) -> list[Driver]:
    file = f"{folder}/version.info"
    text = files.read(file)
    made = None if text is None else driver_of(text, files.real(folder), file)
    return [made] if made is not None else []


def _firmware(files: Files, folder: str) -> list[Firmware]:
    file = f"{folder}/version.info"
    text = files.read(file)
    made = None if text is None else firmware_of(text, files.real(folder), file)
    return [made] if made is not None else []


def _extra(files: Files, folder: str) -> list[Extra]:
    file = f"{folder}/version.info"
    values = name_values(files.read(file) or "")
    versions = [v for k, v in values.items() if k.startswith("ascend-") and v]
    name = folder.removesuffix("/latest").rpartition("/")[2]
    return [Extra(name, versions[0], file)] if versions else []


def newest(installs: Iterable[Install]) -> Install | None:
    """The install with the highest version."""
    best: Install | None = None
    for one in installs:
        if best is None or newer(one.version, best.version):
            best = one
    return best
