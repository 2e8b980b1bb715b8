"""A program: which libraries it needs and does not find, which acl functions it needs and the runtime does not have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from diag.seen import Loading, Seen
from npu.host.files import Files
from npu.host.libs import folders

OURS = ("acl", "Hccl", "hccl", "rt", "ge")  # beginnings of function names that the Ascend libraries export
SYSTEM = (
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
)


class NotAProgram(Exception):
    """Not an ELF file, or one without dynamic section."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path, self.reason = path, reason


def of_program(path: Path, seen: Seen, exports: frozenset[str] | None) -> Seen:
    """The evidence with what the program lacks here. exports: functions of the runtime where its files are placeholders;
    None: read them from the libraries that LD_LIBRARY_PATH gives. OSError, NotAProgram."""
    needed, run_path, undefined = _dynamic(path)
    searched = [*run_path, *(f for _, f in folders((seen.host.env or {}).get("LD_LIBRARY_PATH", ""), Files())), *SYSTEM]
    known = {lib.name.partition(".so")[0] for lib in seen.host.libraries or ()}
    loading: list[Loading] = []
    exported: set[str] = set(exports or ())
    for name in needed:
        place = next((Path(f) / name for f in searched if (Path(f) / name).is_file()), None)
        if place is None and name.partition(".so")[0] not in known:
            loading.append(Loading("absent", name, str(path)))
        elif place is not None and exports is None:
            exported |= _exports(place)
    ours = sorted(s for s in undefined if s.startswith(OURS))
    if exported or exports is not None:
        loading += [Loading("symbol", s, str(path)) for s in ours if s.startswith("acl") and s not in exported]
    return replace(seen, loading=(*seen.loading, *loading), app=str(path))


def _dynamic(path: Path) -> tuple[list[str], list[str], set[str]]:
    """(needed libraries, folders of its run path, undefined functions)."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    with path.open("rb") as file:
        try:
            elf = ELFFile(file)
            section = elf.get_section_by_name(".dynamic")
            tags = list(section.iter_tags()) if section is not None else []
            needed = [str(t.needed) for t in tags if t.entry.d_tag == "DT_NEEDED"]
            run = [str(getattr(t, "runpath", None) or t.rpath) for t in tags if t.entry.d_tag in ("DT_RUNPATH", "DT_RPATH")]
            undefined = {s.name for s in _symbols(elf) if s["st_shndx"] == "SHN_UNDEF" and s.name}
        except (
            ELFError,
            ValueError,
            KeyError,
            AttributeError,
            UnicodeDecodeError,
            OverflowError,
            TypeError,
            IndexError,
        ) as error:
            raise NotAProgram(
                str(path), f"{type(error).__name__}: {error}"
            ) from error  # pyelftools trusts its input in many places
    here = str(path.resolve().parent)
    return needed, [f.replace("$ORIGIN", here) for text in run for f in text.split(":") if f], undefined


def _exports(path: Path) -> set[str]:
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        with path.open("rb") as file:
            return {s.name for s in _symbols(ELFFile(file)) if s["st_shndx"] != "SHN_UNDEF"}
    except (ELFError, OSError, ValueError, KeyError, UnicodeDecodeError):  # a placeholder or a damaged library exports nothing
        return set()


def _symbols(elf: Any) -> list[Any]:
    section = elf.get_section_by_name(".dynsym")
    return list(section.iter_symbols()) if section is not None else []
