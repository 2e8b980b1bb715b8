"""Evidence from paths: a host tree, a folder of files, a single file. What it is, is told by content, never by name alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from diag.evidence import texts
from diag.seen import Seen, together
from npu import om
from npu.host.env import Place, places, running
from npu.host.host import Host, ModelFile
from npu.host.parts import Found
from npu.host.read import ENV_FILE, env_of, is_tree, tree

MOST_FILES = 400
MOST_BYTES = 8 << 20  # a text longer than this is a log, and logs have their own command


class NotEvidence(Exception):
    """Nothing of a host was recognised in a file."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


def of_paths(paths: list[Path]) -> Seen:
    """All evidence of one host together. OSError for a path that cannot be read, NotEvidence for one that says nothing."""
    parts: list[Seen] = []
    for path in paths:
        found = list(_of_path(path))
        if not found:
            raise NotEvidence(str(path))
        parts += found
    return resolved(together(parts, ", ".join(str(p) for p in paths)))


def _of_path(path: Path) -> Iterator[Seen]:
    if not path.is_dir():
        yield from of_file(path)
    elif is_tree(path):
        yield from of_tree(path)
    else:
        files = [p for p in sorted(path.rglob("*"))[: MOST_FILES * 4] if p.is_file() and not p.is_symlink()]
        for file in files[:MOST_FILES]:
            yield from of_file(file)


def of_tree(root: Path, env: dict[str, str] | None = None) -> Iterator[Seen]:
    """A host tree with the notes beside it: env.txt, npu-smi-info.txt, pip-freeze.txt and other texts at its top."""
    notes = [p for p in sorted(root.glob("*.txt")) if p.is_file()]
    if env is None:
        file = root / ENV_FILE
        env = env_of(file.read_text(encoding="utf-8", errors="replace")) if file.is_file() else None
    yield Seen(tree(root, env))
    for note in notes:
        if note.name != ENV_FILE:
            yield from texts.read(note.read_bytes()[:MOST_BYTES].decode("utf-8", "replace"))
    for model in sorted((root / "app").glob("*.om")) if (root / "app").is_dir() else []:
        yield Seen(Host("", models=(of_model(model),)))


def of_file(path: Path) -> Iterator[Seen]:
    """One file: a model, or a text that any of the readers understands."""
    if path.suffix == om.SUFFIX:
        yield Seen(Host("", models=(of_model(path),)))
        return
    with path.open("rb") as file:
        text = file.read(MOST_BYTES).decode("utf-8", "replace")
    yield from texts.read(text)


def of_model(path: Path) -> ModelFile:
    """Chip and CANN of a model file. om.BadModel when it is none of ours, OSError when it cannot be read."""
    model = om.load(path)
    return ModelFile(str(path), model.soc, str(model.build.get("cann", "")))


def resolved(seen: Seen) -> Seen:
    """Paths of an environment that came without a tree: by their spelling, by the version.cfg beside them, or by the only
    install there is of that kind."""
    host = seen.host
    if host.env is None or host.places is not None:
        return seen
    spelled = places(host.env, None, None)
    return replace(
        seen, host=replace(host, places=tuple(replace(p, version=p.version or _named(p, host.found)) for p in spelled))
    )


def _named(place: Place, found: Found | None) -> str:
    if found is None or place.kind in ("", "driver"):
        return ""
    for file, cfg in found.cfg.items():
        folder = file.removesuffix("/version.cfg")
        if folder and (place.text == folder or place.text.startswith(folder + "/")):
            return running(cfg)
    versions = {i.version for i in found.installs if i.kind == place.kind}
    return versions.pop() if len(versions) == 1 else ""
