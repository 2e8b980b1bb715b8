"""torch_npu.profiler.dynamic_profile: a file says when to record and what; the script only calls step()."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from npu.torch_npu import profile_config
from npu.torch_npu.profile import profile, tensorboard_trace_handler
from npu.torch_npu.profile_config import ProfilerActivity, _ExperimentalConfig

FILE = "profiler_config.json"
DEFAULT: dict[str, Any] = {
    "activities": ["CPU", "NPU"], "prof_dir": "./", "analyse": False, "record_shapes": False, "profile_memory": False,
    "with_stack": False, "with_flops": False, "with_modules": False, "active": 1, "warmup": 0, "start_step": 0, "is_rank": False,
    "rank_list": [], "experimental_config": {"profiler_level": "Level0", "aic_metrics": "AiCoreNone"},
}  # fmt: skip


class _Watched:
    """The file, when it was read last, and what records now."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seen = _moment(path)
        self.steps = 0
        self.running: profile | None = None
        self.left = 0
        self.waiting: dict[str, Any] | None = None


_watched: _Watched | None = None


def _moment(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return -1


def init(path: str, render: bool = False) -> None:
    """Watch profiler_config.json in a folder; one with all options is written when none is there."""
    global _watched
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / FILE
    if not file.exists():
        file.write_text(json.dumps(DEFAULT, indent=1), encoding="utf-8")
    _watched = _Watched(file)


def step() -> None:
    """A step of the script has ended. A file that changed since the last step starts a recording of its `active` steps."""
    if _watched is None:
        return
    _watched.steps += 1
    if _watched.running is not None:
        _watched.running.step()
        _watched.left -= 1
        if _watched.left <= 0:
            _watched.running.stop()
            _watched.running = None
        return
    moment = _moment(_watched.path)
    if moment != _watched.seen:
        _watched.seen = moment
        _watched.waiting = _read(_watched.path)
    wanted = _watched.waiting
    if wanted is not None and _watched.steps >= int(wanted["start_step"]):
        _watched.waiting = None
        _begin(_watched, wanted)


def start(config_path: str | None = None) -> None:
    """Record from the next step on, as a file says (default: the watched one)."""
    if _watched is not None:
        _watched.waiting = _read(Path(config_path) if config_path else _watched.path)


def _read(path: Path) -> dict[str, Any] | None:
    """The options; None, with a line on stderr, for a file that is none: a script does not end because of it."""
    import sys

    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        print(
            f"torch_npu.profiler: {path} cannot be used: {error}\n  next: correct it, the next change is read again",
            file=sys.stderr,
        )
        return None
    return {**DEFAULT, **content} if isinstance(content, dict) else None


def _begin(watched: _Watched, wanted: dict[str, Any]) -> None:
    options = dict(wanted["experimental_config"])
    config = _ExperimentalConfig(
        profiler_level=profile_config.ProfilerLevel(options.get("profiler_level", "Level0")),
        aic_metrics=profile_config.AiCMetrics[options.get("aic_metrics", "AiCoreNone")],
    )
    warmup, active = int(wanted["warmup"]), int(wanted["active"])
    watched.left = warmup + active
    watched.running = profile(
        activities=[ProfilerActivity[a] for a in wanted["activities"]],
        schedule=profile_config.schedule(wait=0, warmup=warmup, active=active, repeat=1),
        on_trace_ready=tensorboard_trace_handler(wanted["prof_dir"], analyse_flag=True),
        record_shapes=bool(wanted["record_shapes"]),
        profile_memory=bool(wanted["profile_memory"]),
        with_stack=bool(wanted["with_stack"]),
        experimental_config=config,
    )
    watched.running.start()
