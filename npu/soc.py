"""Chip table: one row of data/soc.csv as a typed record. Sources and what is unverified stand in the table's last columns."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DEFAULT = "Ascend910B3"


@dataclass(frozen=True, slots=True)
class Soc:
    """A chip. Sizes in bytes, clock in MHz, bandwidth in GB/s (the lower figure where the table gives a range)."""

    name: str
    npu_smi_name: str
    series: str
    arch: str
    aic: int  # cube (AI) cores
    aiv: int  # vector cores; 0 where cube and vector units share a core
    aicpu: int
    cube_mhz: int
    mac_fp16: int  # multiply-accumulates per cycle and core
    mac_int8: int
    vec_bytes: int  # vector bytes per cycle and core
    l1: int
    ub: int
    l2: int
    memory: int
    memory_kind: str
    memory_gbps: float
    peak_fp16_tflops: float
    idle_power_w: float | None
    idle_temp_c: float | None
    tdp_w: float | None
    status: str

    @property
    def hbm(self) -> bool:
        """True where npu-smi shows an HBM pool, False for chips with DDR only."""
        return self.memory_kind.startswith("HBM")

    @property
    def split(self) -> bool:
        """True where cube and vector cores are separate (A2 and A3: PMU columns carry aic_ and aiv_ prefixes)."""
        return self.arch == "2201"

    @property
    def vector_cores(self) -> int:
        return self.aiv or self.aic

    @property
    def family(self) -> str:
        """Chips of one family load each other's models: Ascend910B1..B4 are one, A3 another, 310P another."""
        text = self.name.removeprefix("Ascend")
        if re.fullmatch(r"910B\d(C|-1)?", text):
            return "910B"
        if text.startswith("910_93"):
            return "910_93"
        if text.startswith("310P"):
            return "310P"
        if text.startswith("310B"):
            return "310B"
        return "310" if text.startswith("310") else "910"


def _number(text: str) -> float | None:
    """First number of a table cell such as '86-102' or '350 (unverified)'; None for NA and empty cells."""
    match = re.search(r"\d+(?:\.\d+)?", text)
    return float(match[0]) if match else None


def _int(text: str, default: int = 0) -> int:
    value = _number(text)
    return default if value is None else int(value)


def _float(text: str, default: float = 0.0) -> float:
    value = _number(text)
    return default if value is None else value


@cache
def table() -> dict[str, Soc]:
    """All chips by soc_version name, in the table's order."""
    text = Path(__file__).with_name("data").joinpath("soc.csv").read_text(encoding="utf-8")
    made = {}
    for r in csv.DictReader(text.splitlines()):
        made[r["soc"]] = Soc(
            name=r["soc"],
            npu_smi_name=r["npu_smi_name"],
            series=r["series"],
            arch=r["npu_arch"],
            aic=_int(r["aic_cnt"]),
            aiv=_int(r["aiv_cnt"]),
            aicpu=_int(r["aicpu_cnt"], 4),
            cube_mhz=_int(r["cube_freq_mhz"], 1000),
            mac_fp16=_int(r["mac_per_cycle_fp16"], 4096),
            mac_int8=_int(r["mac_per_cycle_int8"], 8192),
            vec_bytes=_int(r["vec_bytes_per_cycle"], 256),
            l1=_int(r["l1_bytes"], 1 << 20),
            ub=_int(r["ub_bytes"], 256 << 10),
            l2=_int(r["l2_bytes"], 16 << 20),
            memory=_int(r["mem_bytes"], 16 << 30),
            memory_kind=r["mem_kind"],
            memory_gbps=_float(r["mem_bw_gbps"], 50.0),
            peak_fp16_tflops=_float(r["peak_fp16_tflops"], 1.0),
            idle_power_w=_number(r["idle_power_w"]),
            idle_temp_c=_number(r["idle_temp_c"]),
            tdp_w=_number(r["tdp_w"]),
            status=r["status"],
        )
    return made


def find(name: str) -> Soc:
    """The chip of that soc_version; 'Ascend910B3', '910B3' and any letter case are accepted. KeyError for an unknown one."""
    wanted = name.strip().lower().removeprefix("ascend")
    for soc_name, soc in table().items():
        if soc_name.lower().removeprefix("ascend") == wanted:
            return soc
    raise KeyError(name)
