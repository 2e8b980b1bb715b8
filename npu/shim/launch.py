"""What a launcher sets so that an unmodified script meets the simulated stack; child processes inherit it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

ON_PATH = Path(__file__).parent / "onpath"
ON_REAL = Path(__file__).parent / "onreal"


def recording_real(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for a script on a machine with a real NPU: the recording form of the real `acl` first on PYTHONPATH; the
    script's clock is left alone."""
    return _paths(environ, ON_REAL)


def environment(environ: Mapping[str, str], clock: str | None = None, soc: str | None = None) -> dict[str, str]:
    """The environment for the script: the shim first on PYTHONPATH (and where our packages lie, so that a child of another
    working folder finds them), chip and clock where given."""
    env = _paths(environ, ON_PATH)
    if clock is not None:
        env["NPU_CLOCK"] = clock
    if soc is not None:
        env["NPU_SOC"] = soc
    return env


def _paths(environ: Mapping[str, str], first: Path) -> dict[str, str]:
    home = str(Path(__file__).resolve().parents[2])
    ours = (str(ON_PATH), str(ON_REAL), home)
    before = [p for p in environ.get("PYTHONPATH", "").split(os.pathsep) if p and p not in ours]
    return {**environ, "PYTHONPATH": os.pathsep.join([str(first), *before, home])}
