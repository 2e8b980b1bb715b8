"""fusion_result.json: how often each fusion pass matched and took effect, in the real tool's form (values are strings)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from npu.graph.errors import AtcError
from npu.graph.passes.base import UB, Outcome


def where(pid: int) -> Path:
    """$ASCEND_WORK_PATH/FE/<pid>/fusion_result.json, or fusion_result.json in the working folder."""
    work = os.environ.get("ASCEND_WORK_PATH", "")
    return Path(work) / "FE" / str(pid) / "fusion_result.json" if work else Path("fusion_result.json")


def content(counts: Mapping[str, Mapping[str, Outcome]], session: int = 0, graph: int = 0) -> dict[str, object]:
    """The object of one graph. Passes that never matched and switched-off ones do not appear."""
    made: dict[str, dict[str, dict[str, str]]] = {}
    for kind, passes in counts.items():
        made[kind] = {}
        for name, outcome in passes.items():
            if not outcome.matched:
                continue
            entry = {"effect_times": str(outcome.effected), "match_times": str(outcome.matched)}
            if kind == UB:
                entry["repository_hit_times"] = "0"
            made[kind][name] = entry
    return {f"session_and_graph_id_{session}_{graph}": made}


def write(path: Path, counts: Mapping[str, Mapping[str, Outcome]]) -> None:
    """Replace the file. AtcError E13004 when that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content(counts), indent=4) + "\n", encoding="utf-8")
    except OSError as error:
        raise AtcError("E13004", file=path, errmsg=error.strerror) from error
