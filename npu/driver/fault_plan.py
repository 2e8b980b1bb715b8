"""NPU_FAULT: which faults shall happen in this process. `KIND[:NAME=VALUE[,NAME=VALUE...]][;KIND...]`.

    NPU_FAULT=ecc                              multi-bit ECC error at the first kernel, on whichever device runs it
    NPU_FAULT=aicore-exception:device=1,at=3   the third kernel of device 1 fails
    NPU_FAULT="slow:factor=3;killed:at=40"     kernels take three times as long, and the process is killed at its 40th call

Each process has its own plan and counts for itself; of a job's ranks `device` picks one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from npu.driver.fault_kinds import Kind, kinds

VARIABLE = "NPU_FAULT"
ANY = -1  # every device
MOST_DEVICE, MOST_FACTOR, MOST_SECONDS = 15, 1000.0, 100_000.0
USUAL_SECONDS = 28.0  # after which a hung kernel is stopped where the script sets no time-out (unverified)


@dataclass(frozen=True, slots=True)
class Planned:
    """One fault. device: as the machine counts, ANY for whichever comes first; at: the kernel or call it happens at, from 1;
    factor: how many times as long work takes; seconds: after which a hung kernel is stopped."""

    kind: Kind
    device: int = ANY
    at: int = 1
    factor: float = 1.0
    seconds: float = USUAL_SECONDS

    def of(self, device: int) -> bool:
        return self.device in (ANY, device)


def of(environ: Mapping[str, str] | None = None) -> tuple[Planned, ...]:
    """The plan of an environment, empty without one. ValueError says in one line what of it cannot be used."""
    env = os.environ if environ is None else environ
    written = env.get(VARIABLE, "").strip()
    return tuple(_planned(part.strip()) for part in written.split(";") if part.strip()) if written else ()


def _planned(part: str) -> Planned:
    name, _, rest = part.partition(":")
    kind = kinds().get(name.strip())
    if kind is None:
        raise ValueError(f"{VARIABLE}={part}: there is no fault {name.strip()!r}; known: {', '.join(kinds())}")
    device, at, factor, seconds = ANY, 1, kind.factor, USUAL_SECONDS
    for setting in rest.split(",") if rest.strip() else ():
        key, _, value = (word.strip() for word in setting.partition("="))
        if key not in kind.takes:
            raise ValueError(f"{VARIABLE}={part}: {kind.name} takes {', '.join(kind.takes)}, not {key!r}")
        if key == "device":
            device = int(_number(part, key, value, 0, MOST_DEVICE, whole=True))
        elif key == "at":
            at = int(_number(part, key, value, 1, 10**9, whole=True))
        elif key == "factor":
            factor = _number(part, key, value, 1, MOST_FACTOR)
        else:
            seconds = _number(part, key, value, 0, MOST_SECONDS)
    return Planned(kind, device, at, factor, seconds)


def _number(part: str, key: str, value: str, low: float, high: float, whole: bool = False) -> float:
    if re.fullmatch(r"[0-9]{1,10}" if whole else r"[0-9]{1,10}(\.[0-9]{1,6})?", value) and low <= float(value) <= high:
        return float(value)
    raise ValueError(f"{VARIABLE}={part}: {key} is {value!r}; give a {'whole ' if whole else ''}number from {low:g} to {high:g}")
