"""Values of single variables: legal, not in each other's way, not harmful by accident."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from diag.seen import Seen
from diag.verdict import ERROR, INFO, WARNING, Verdict
from npu.host.env import Rule, legal, rules

ALLOC_KEYS = {
    "max_split_size_mb",
    "garbage_collection_threshold",
    "expandable_segments",
    "base_addr_aligned_kb",
    "page_size",
    "segment_size_mb",
    "roundup_power2_divisions",
}
EVENT_DEFAULT, EXEC_DEFAULT = 1868, 1836  # seconds
LONG = 12  # letters; of shorter names one letter makes another word
# Names without a rule on their values that people write by hand.
READ = {"ASCEND_RT_VISIBLE_DEVICES", "ASCEND_HOME_PATH", "ASCEND_OPP_PATH", "ASCEND_AICPU_PATH", "ASCEND_TOOLKIT_HOME"}


def values(seen: Seen) -> Iterator[Verdict]:
    """Variables with values that are not legal, and names that are misspelt."""
    env = seen.host.env or {}
    for name, rule in rules().items():
        value = env.get(name)
        if value is not None and not legal(rule, value):
            allowed = _allowed(rule)
            yield Verdict(
                "illegal_value",
                ERROR,
                {"variable": name, "value": value, "allowed": allowed, "default": rule.default or "-"},
                (name,),
            )
    yield from _misspelt(env)
    yield from _collectives(env)
    yield from _allocator(env)
    yield from _logs(env)
    if env.get("ASCEND_LAUNCH_BLOCKING") == "1":
        yield Verdict("launch_blocking", WARNING, {}, ("ASCEND_LAUNCH_BLOCKING",))


def _allowed(rule: Rule) -> str:
    if rule.form == "choice":
        return rule.argument.replace("|", ", ")
    if rule.form == "int":
        low, _, high = rule.argument.partition("..")
        return f"{low} to {high} {rule.note}".strip() if high else f"{low} and more {rule.note}".strip()
    return rule.note or rule.argument


def _misspelt(env: Mapping[str, str]) -> Iterator[Verdict]:
    known = READ | rules().keys()
    for name in sorted(env.keys() - known):
        meant = next((k for k in sorted(known - env.keys()) if len(k) > LONG and _one_slip(name, k)), "")
        if meant:
            yield Verdict("misspelt_variable", WARNING, {"variable": name, "value": env[name], "meant": meant}, (name,))


def _one_slip(name: str, known: str) -> bool:
    """Whether one letter too many, too few or wrong, or two in each other's place, tell the names apart."""
    start = next((i for i, (a, b) in enumerate(zip(name, known, strict=False)) if a != b), min(len(name), len(known)))
    rest, wanted = name[start:], known[start:]
    swapped = rest[:2] == wanted[1::-1] and rest[2:] == wanted[2:]
    return rest[1:] == wanted or rest == wanted[1:] or rest[1:] == wanted[1:] or swapped


def _collectives(env: Mapping[str, str]) -> Iterator[Verdict]:
    wait, run = (_number(env.get(n), d) for n, d in (("HCCL_EVENT_TIMEOUT", EVENT_DEFAULT), ("HCCL_EXEC_TIMEOUT", EXEC_DEFAULT)))
    if ("HCCL_EVENT_TIMEOUT" in env or "HCCL_EXEC_TIMEOUT" in env) and wait is not None and run is not None and 0 < wait <= run:
        yield Verdict(
            "event_timeout_too_short", WARNING, {"event": wait, "exec": run}, ("HCCL_EVENT_TIMEOUT", "HCCL_EXEC_TIMEOUT")
        )
    if env.get("HCCL_INTRA_PCIE_ENABLE") == "1" and env.get("HCCL_INTRA_ROCE_ENABLE") == "1":
        yield Verdict("pcie_and_roce", WARNING, {}, ("HCCL_INTRA_PCIE_ENABLE", "HCCL_INTRA_ROCE_ENABLE"))
    if env.get("HCCL_WHITELIST_DISABLE") == "0" and not env.get("HCCL_WHITELIST_FILE"):
        yield Verdict("whitelist_without_file", ERROR, {}, ("HCCL_WHITELIST_DISABLE",))


def _allocator(env: Mapping[str, str]) -> Iterator[Verdict]:
    text = env.get("PYTORCH_NPU_ALLOC_CONF", "")
    if text and env.get("PYTORCH_ALLOC_CONF"):
        yield Verdict("two_alloc_confs", WARNING, {}, ("PYTORCH_NPU_ALLOC_CONF", "PYTORCH_ALLOC_CONF"))
    unknown = [item for item in text.split(",") if item and item.partition(":")[0].strip() not in ALLOC_KEYS]
    split = re.search(r"max_split_size_mb:(\d+)", text)
    if unknown or (split and int(split[1]) <= 20):
        bad = ", ".join(unknown) or (split[0] if split else "")
        yield Verdict(
            "illegal_value",
            ERROR,
            {
                "variable": "PYTORCH_NPU_ALLOC_CONF",
                "value": bad,
                "default": "-",
                "allowed": "key:value with " + ", ".join(sorted(ALLOC_KEYS)) + "; max_split_size_mb above 20",
            },
            ("PYTORCH_NPU_ALLOC_CONF",),
        )


def _logs(env: Mapping[str, str]) -> Iterator[Verdict]:
    new, old = env.get("ASCEND_LOG_PRINT_TO_STDOUT"), env.get("ASCEND_SLOG_PRINT_TO_STDOUT")
    if (new if new is not None else old) == "1":
        name = "ASCEND_LOG_PRINT_TO_STDOUT" if new is not None else "ASCEND_SLOG_PRINT_TO_STDOUT"
        yield Verdict("logs_to_stdout", INFO, {"variable": name}, (name,))
    level = env.get("ASCEND_GLOBAL_LOG_LEVEL")
    if level in ("0", "1"):
        yield Verdict("verbose_log", INFO, {"level": level, "name": ("DEBUG", "INFO")[int(level)]}, ("ASCEND_GLOBAL_LOG_LEVEL",))


def _number(text: str | None, default: int) -> int | None:
    if text is None or text == "":
        return default
    return int(text) if re.fullmatch(r"\d{1,15}", text) else None
