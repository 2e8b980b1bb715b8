"""The environment leads to one install, and it is loaded at all."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diag.checks import facts
from diag.seen import Seen
from diag.verdict import ERROR, WARNING, Verdict
from npu.host.env import HOMES
from npu.host.libs import RUNTIME
from npu.host.tree import CLASSIC, base_of


def one_version(seen: Seen) -> Iterator[Verdict]:
    """ASCEND_* paths, the first runtime in LD_LIBRARY_PATH and the first install in PYTHONPATH resolve to one version."""
    firsts = {p.variable: p for p in reversed(seen.host.places or ()) if p.kind not in ("", "driver")}
    told = {v: f"{p.kind} {p.version}" for v, p in firsts.items() if p.version}
    runtime = next((lib for lib in seen.host.libraries or () if lib.name == RUNTIME and " " in lib.owner), None)
    if runtime is not None:
        told["LD_LIBRARY_PATH"] = runtime.owner
    homes = {v: t for v, t in told.items() if v in HOMES}
    if len(set(homes.values())) > 1:
        yield Verdict("homes_differ", ERROR, {"told": _told(homes), "set_env": _set_env(seen)}, tuple(homes))
    home = homes.get("ASCEND_HOME_PATH") or next(iter(homes.values()), "")
    known = {"home": home, "homes": ", ".join(v for v in HOMES if homes.get(v) == home), "set_env": _set_env(seen)}
    loaded = told.get("LD_LIBRARY_PATH", home)
    if home and loaded != home:
        first = firsts.get("LD_LIBRARY_PATH")
        entry, path = (first.entry, first.text) if first is not None else (0, "")
        if runtime is not None:
            entry, path = runtime.entry, runtime.folder
        where = f"LD_LIBRARY_PATH entry {entry}" if entry else "ldd"
        facts_of = {**known, "loaded": loaded, "where": where, "path": path}
        yield Verdict("ld_library_path_other_version", ERROR, facts_of, (where,))
    modules = told.get("PYTHONPATH", home)
    if home and modules != home:
        where = f"PYTHONPATH entry {firsts['PYTHONPATH'].entry}"
        yield Verdict("pythonpath_other_version", ERROR, {**known, "loaded": modules}, (where,))
    yield from _several_by_spelling(seen, told)


def _several_by_spelling(seen: Seen, told: dict[str, str]) -> Iterator[Verdict]:
    """One list that names two installs, where nothing above compared them: texts without a tree."""
    places = seen.host.places or ()
    for variable in ("LD_LIBRARY_PATH", "PYTHONPATH"):
        owners = dict.fromkeys(
            f"{p.kind} {p.version}" for p in places if p.variable == variable and p.version and p.kind != "driver"
        )
        kinds = dict.fromkeys(p.kind for p in places if p.variable == variable and p.kind in CLASSIC.values())
        if (len(owners) > 1 or len(kinds) > 1) and len(set(told.values())) <= 1:
            names = list(owners) if len(owners) > 1 else list(kinds)
            yield Verdict(
                "path_mixes_installs",
                WARNING,
                {"variable": variable, "owners": ", ".join(names), "set_env": _set_env(seen)},
                (variable,),
            )


def loaded(seen: Seen) -> Iterator[Verdict]:
    """set_env.sh was sourced: ASCEND_HOME_PATH is set and leads somewhere, LD_LIBRARY_PATH has runtime and driver."""
    env, found = seen.host.env or {}, seen.host.found
    whole = found is not None and seen.host.simulated is not None
    for place in facts.homes(seen):
        if place.exists is False and place.variable in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
            yield Verdict("home_not_there", ERROR, {"variable": place.variable, "path": place.text}, (place.variable,))
    if whole and found is not None and found.installs and not env.get("ASCEND_HOME_PATH"):
        yield Verdict("environment_not_loaded", WARNING, {"set_env": _set_env(seen)}, ("ASCEND_HOME_PATH",))
    path = env.get("LD_LIBRARY_PATH")
    if path == "" and seen.loading:
        yield Verdict("ld_library_path_empty", ERROR, {"set_env": _set_env(seen)}, ("LD_LIBRARY_PATH",))
    home = env.get("ASCEND_HOME_PATH", "")
    if path and home and not whole and not any(facts.names_an_install(p) for p in path.split(":")):
        yield Verdict("ld_library_path_without_cann", ERROR, {"home": home, "set_env": _set_env(seen)}, ("LD_LIBRARY_PATH",))
    yield from _stub_first(seen)
    if "ASCEND_HOME" in env and "ASCEND_HOME_PATH" not in env and not whole:
        yield Verdict(
            "ascend_home_is_no_variable", WARNING, {"path": env["ASCEND_HOME"], "set_env": _set_env(seen)}, ("ASCEND_HOME",)
        )


def _stub_first(seen: Seen) -> Iterator[Verdict]:
    """A folder of link-time stand-ins before the driver's, by its spelling; a tree shows what is really loaded."""
    if seen.host.libraries is not None:
        return
    entries = (seen.host.env or {}).get("LD_LIBRARY_PATH", "").split(":")
    for number, entry in enumerate(entries, 1):
        if "/driver/lib64" in entry:
            return
        if re.search(r"/(?:stubs?|devlib)(?:/|$)", entry):
            where = f"LD_LIBRARY_PATH entry {number}"
            yield Verdict("stub_folder_first", WARNING, {"folder": entry, "where": where}, (where,))
            return


def _told(homes: dict[str, str]) -> str:
    return ", ".join(f"{variable} -> {owner}" for variable, owner in homes.items())


def _set_env(seen: Seen) -> str:
    """The set_env.sh to source: of the install in force."""
    install = facts.active(seen)
    base = base_of(install.path) if install is not None else ""
    if install is None or not base:
        return "/usr/local/Ascend/ascend-toolkit/set_env.sh"
    if install.layout == "cann":
        return f"{base}/cann/set_env.sh"
    folder = next(f for f, kind in CLASSIC.items() if kind == install.kind)
    return f"{base}/{folder}/set_env.sh"
