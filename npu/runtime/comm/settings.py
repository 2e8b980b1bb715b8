"""What the environment says to HCCL, read when a communicator is made; a bad value is refused by its name (EI0001)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from npu.errors import NpuError
from npu.hccl.select import VARIABLE, BadAlgorithm, parse
from npu.units import MIB, S

FIRST = ("910", "310P")  # families whose execution time-out is counted in steps of 68 s
STEP_S = 68
MOST_S = 2147483647


@dataclass(frozen=True, slots=True)
class Settings:
    """Times in ns (execute 0: for ever), buffer in bytes; algo: HCCL_ALGO as written; slow_links and slow_ranks: what the
    simulator is asked to make slow (NPU_SLOW_LINKS=0-1:4,2-3:2 and NPU_SLOW_RANKS=3:2)."""

    connect: int = 120 * S
    execute: int = 1836 * S
    buffer: int = 200 * MIB
    algo: str = ""
    port: int = 60000
    slow_links: tuple[tuple[int, int, float], ...] = ()
    slow_ranks: tuple[tuple[int, float], ...] = ()


def read(family: str, environ: Mapping[str, str] | None = None) -> Settings:
    """NpuError hccl_environment names the variable, its value and what is expected."""
    env = os.environ if environ is None else environ
    algo = env.get(VARIABLE, "")
    try:
        parse(algo)
    except BadAlgorithm as error:
        raise NpuError("hccl_environment", env=VARIABLE, value=error.value, expected=error.expected) from error
    if env.get("HCCL_INTRA_PCIE_ENABLE") == "1" and env.get("HCCL_INTRA_ROCE_ENABLE") == "1":
        raise NpuError(
            "hccl_environment", env="HCCL_INTRA_ROCE_ENABLE", value="1", expected="0 where HCCL_INTRA_PCIE_ENABLE is 1"
        )
    execute = _number(env, "HCCL_EXEC_TIMEOUT", 1836, 1 if family in FIRST else 0, 17340 if family in FIRST else MOST_S)
    if family in FIRST:
        execute = max(STEP_S, execute // STEP_S * STEP_S)
    return Settings(
        _number(env, "HCCL_CONNECT_TIMEOUT", 120, 120, 7200) * S,
        execute * S,
        _number(env, "HCCL_BUFFSIZE", 200, 1, MOST_S) * MIB,
        algo,
        _number(env, "HCCL_IF_BASE_PORT", 60000, 1024, 65520),
        tuple((int(a), int(b), f) for (a, _, b), f in ((k.partition("-"), f) for k, f in _factors(env, "NPU_SLOW_LINKS", True))),
        tuple((int(k), f) for k, f in _factors(env, "NPU_SLOW_RANKS", False)),
    )


def _number(env: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    text = env.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
        raise NpuError("hccl_environment", env=name, value=text, expected=f"a number from {least} to {most}")
    return int(text)


def _factors(env: Mapping[str, str], name: str, pairs: bool) -> list[tuple[str, float]]:
    made = []
    form = "SRC-DST:FACTOR" if pairs else "RANK:FACTOR"
    for item in filter(None, env.get(name, "").split(",")):
        key, _, factor = item.partition(":")
        ends = key.split("-")
        try:
            value = float(factor)
        except ValueError:
            value = 0.0
        if len(ends) != 1 + pairs or not all(e.isdigit() for e in ends) or value < 1:
            raise NpuError("hccl_environment", env=name, value=item, expected=f"{form}, the factor at least 1")
        made.append((key, value))
    return made
