"""What a launcher sets so that an unmodified script meets the simulated stack; child processes inherit it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

ON_PATH = Path(__file__).parent / "onpath"


def environment(environ: Mapping[str, str], clock: str | None = None, soc: str | None = None) -> dict[str, str]:
    """The environment for the script: the shim first on PYTHONPATH (and where our packages lie, so that a child of another
    working folder finds them), chip and clock where given."""
    env = dict(environ)
    home = str(Path(__file__).resolve().parents[2])
    before = [p for p in env.get("PYTHONPATH", "").split(os.pathsep) if p and p not in (str(ON_PATH), home)]
    env["PYTHONPATH"] = os.pathsep.join([str(ON_PATH), *before, home])
    if clock is not None:
        env["NPU_CLOCK"] = clock
    if soc is not None:
        env["NPU_SOC"] = soc
    return env
