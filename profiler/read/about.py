"""What a profile says of itself: info.json, profiler_info_N.json, profiler_metadata.json -> trace.meta."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from profiler.trace import Missing, Trace

NOTHING = (None, "", "NA")  # how info.json says that a fact is not known
CORES = ("ai_core_num", "aiv_num", "aic_frequency", "aiv_frequency")
RANK = re.compile(
    r"(?:^|[^a-z])(?:rank|ascend_pytorch_profiler|ascend_mindspore_profiler|profiler_info)[_\-]?(\d{1,6})(?!\d)", re.IGNORECASE
)


def loaded(path: Path) -> dict[str, Any]:
    """A small JSON object; {} when it is not there or damaged."""
    try:
        value = json.loads(path.read_bytes().decode("utf-8-sig", "replace"))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def rank_in(name: str) -> int | None:
    """The rank a file or folder name tells, e.g. rank_3_ascend_pt."""
    found = RANK.search(name)
    return int(found[1]) if found else None


def of_torch(trace: Trace, place: Path) -> None:
    """profiler_info[_N].json: rank, level, switches, versions; profiler_metadata.json: environment, groups."""
    meta = trace.meta
    for path in sorted(place.glob("profiler_info*.json")):
        facts = loaded(path)
        if not facts:
            trace.missing.append(Missing(path.name, "it is empty or no JSON object"))
            continue
        rank = _int(facts.get("rank_id"))
        rank = rank_in(path.stem) if rank is None else rank
        if rank is not None and rank >= 0:
            meta["rank"] = rank
        config = facts.get("config")
        if isinstance(config, dict) and config:
            meta["collection"] = _collection(config)
        versions = {k: str(facts[f"{k}_version"]) for k in ("cann", "torch_npu", "mindspore") if facts.get(f"{k}_version")}
        if versions:
            meta["versions"] = meta.get("versions", {}) | versions
    for folder in (place, place / "ASCEND_PROFILER_OUTPUT"):
        facts = loaded(folder / "profiler_metadata.json")
        environ, args, groups = (facts.get(n) for n in ("ENV_VARIABLES", "distributed_args", "parallel_group_info"))
        if isinstance(environ, dict):
            meta["env"] = environ
        if isinstance(args, dict):
            meta["distributed_args"] = args
            for name in ("rank", "world_size"):
                value = _int(args.get(name))
                if value is not None:
                    meta.setdefault(name, value)
        if isinstance(groups, dict):
            meta["groups"] = groups


def _collection(config: dict[str, Any]) -> dict[str, Any]:
    common, extra = config.get("common_config", {}), config.get("experimental_config", {})
    both = (common if isinstance(common, dict) else {}) | (extra if isinstance(extra, dict) else {})
    made = {k.lstrip("_"): v for k, v in both.items()}
    level = made.pop("profiler_level", None)
    if level is not None:
        made["level"] = str(level).replace("Level_", "Level")
    return made


def of_msprof(trace: Trace, prof: Path) -> None:
    """info.json of the host and of each device: rank, process, versions, chip, switches."""
    meta = trace.meta
    host = loaded(prof / "host" / "info.json")
    devices = [loaded(p) for p in sorted(prof.glob("device_*/info.json.*")) if not p.name.endswith(".done")]
    for facts in (host, *devices):
        rank = _int(facts.get("rank_id"))
        if rank is not None and rank >= 0:
            meta.setdefault("rank", rank)
        pid = _int(facts.get("pid"))
        if pid is not None and pid > 0:
            meta.setdefault("pid", pid)
        versions = {
            k: str(facts[key]) for k, key in (("cann", "cannVersion"), ("driver", "drvVersion")) if facts.get(key) not in NOTHING
        }
        if versions:
            meta["versions"] = versions | meta.get("versions", {})
        if facts.get("hostname") not in NOTHING:
            meta.setdefault(
                "host", {"hostname": str(facts["hostname"]), "uid": str(facts.get("hostUid", "")), "os": str(facts.get("OS", ""))}
            )
    for facts in devices:
        about = facts.get("DeviceInfo")
        first = about[0] if isinstance(about, list) and about and isinstance(about[0], dict) else {}
        cores = {k: n for k in CORES if (n := _int(first.get(k))) is not None}
        if cores:
            meta.setdefault("cores", cores)
        if facts.get("platform_version") not in (None, ""):
            meta.setdefault("platform", str(facts["platform_version"]))
    sample = loaded(prof / "host" / "sample.json") or next(
        (s for s in map(loaded, sorted(prof.glob("device_*/sample.json"))) if s), {}
    )
    if sample:
        meta.setdefault(
            "collection", {k: v for k, v in sample.items() if isinstance(v, str | int | bool) and v not in ("", "NA")}
        )
        if sample.get("app") and not meta.get("command"):
            meta["command"] = " ".join(str(sample[k]) for k in ("app", "app_parameters") if sample.get(k))


def _int(value: Any) -> int | None:
    """Numbers stand as numbers or as texts, e.g. rank_id."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value.lstrip("-").isdigit() and len(value) < 18:
        return int(value)
    return None
