"""Libraries in use: the runtime and the driver's come from where they should, nothing foreign stands in front."""

from __future__ import annotations

from collections.abc import Iterator

from diag.checks import facts
from diag.seen import Loading, Seen
from diag.verdict import ERROR, Verdict
from npu.host.libs import HAL, RUNTIME, Library

MOST = 4  # names listed in one sentence


def in_use(seen: Seen) -> Iterator[Verdict]:
    """CANN libraries that resolve to nothing, to a stub, or to a copy that hides the install's own."""
    libraries = seen.host.libraries or ()
    found = seen.host.found
    by_name = {lib.name: lib for lib in libraries}
    runtime, hal = by_name.get(RUNTIME), by_name.get(HAL)
    whole = found is not None and seen.host.simulated is not None and bool((seen.host.env or {}).get("LD_LIBRARY_PATH"))
    if whole and found is not None and found.installs and runtime is None:
        yield Verdict("runtime_not_on_path", ERROR, {"cann": found.installs[0].version}, ("LD_LIBRARY_PATH",))
    if whole and found is not None and found.drivers and hal is None:
        yield Verdict(
            "driver_library_not_on_path", ERROR, {"path": f"{found.drivers[0].path}/lib64/driver"}, ("LD_LIBRARY_PATH",)
        )
    for lib in libraries:
        if lib.stub and lib.name in (RUNTIME, HAL):
            driver = facts.driver(seen)
            kind = "stub_in_use" if driver is not None or lib.later else "stub_without_driver"
            yield Verdict(kind, ERROR, {"library": lib.name, "folder": lib.folder, "entry": lib.entry}, (_where(lib),))
    foreign: dict[str, list[Library]] = {}
    for lib in libraries:
        if lib.owner == "" and lib.later:
            foreign.setdefault(lib.folder, []).append(lib)
    for folder, libs in foreign.items():
        names = ", ".join(lib.name for lib in libs[:MOST]) + (f" and {len(libs) - MOST} more" if len(libs) > MOST else "")
        yield Verdict(
            "library_shadowed",
            ERROR,
            {"names": names, "folder": folder, "entry": libs[0].entry, "owner": libs[0].later[0]},
            (_where(libs[0]),),
        )


def messages(seen: Seen) -> Iterator[Verdict]:
    """What the loader said it could not do."""
    for one in seen.loading:
        yield from _message(one, seen)


def _message(one: Loading, seen: Seen) -> Iterator[Verdict]:
    shown = {"what": one.what, "by": one.by or "the program"}
    name = one.what.partition(".so")[0] + ".so"
    if one.kind == "absent":
        driver_side = name in (HAL, "libdrvdsmi_host.so", "libdcmi.so", "libc_sec.so", "libmmpa.so")
        ours = driver_side or name.startswith(
            ("libascend", "libacl", "libhccl", "libruntime", "libge_", "libop", "libgraph", "libatb")
        )
        kind = "driver_library_missing" if driver_side else "cann_library_missing" if ours else "library_missing"
        yield Verdict(kind, ERROR, shown, ("loader",))
    elif one.kind == "version":
        yield Verdict("system_library_too_old", ERROR, shown, ("loader",))
    elif one.kind == "symbol" and not seen.app:
        atb = "atb" in one.what.lower()
        yield Verdict("undefined_symbol_atb" if atb else "undefined_symbol", ERROR, shown, ("loader",))


def _where(lib: Library) -> str:
    return f"LD_LIBRARY_PATH entry {lib.entry}" if lib.entry else lib.folder
