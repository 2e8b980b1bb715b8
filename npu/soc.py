"""Chip table: one row of data/soc.csv as a typed record. Sources and what is unverified stand in the table's last columns."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping
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
    l0a: int = 65536
    l0b: int = 65536
    l0c: int = 131072
    ddr_rate: int = 32  # platform rates of one core, bytes a cycle
    l2_rate: int = 110
    dies: int = 1  # of a package; this record is one die
    die_link_gbps: float = 0.0
    like: str = ""  # the chip whose family it belongs to, for a chip of a file

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
        text = (self.like or self.name).removeprefix("Ascend")
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


PATH = Path(__file__).with_name("data") / "soc.csv"
OWN = "NPU_SOC"  # the variable that names the chip, or a file that describes one
FILES = (".toml", ".csv")
# number of a record -> column of the table, what an empty cell means
_WHOLE = {
    "aic": ("aic_cnt", 1), "aiv": ("aiv_cnt", 0), "aicpu": ("aicpu_cnt", 4), "cube_mhz": ("cube_freq_mhz", 1000),
    "mac_fp16": ("mac_per_cycle_fp16", 4096), "mac_int8": ("mac_per_cycle_int8", 8192), "vec_bytes": ("vec_bytes_per_cycle", 256),
    "l1": ("l1_bytes", 1 << 20), "ub": ("ub_bytes", 256 << 10), "l2": ("l2_bytes", 16 << 20), "memory": ("mem_bytes", 16 << 30),
    "l0a": ("l0a_bytes", 65536), "l0b": ("l0b_bytes", 65536), "l0c": ("l0c_bytes", 131072), "ddr_rate": ("ddr_rate", 32),
    "l2_rate": ("l2_rate", 110), "dies": ("dies", 1),
}  # fmt: skip
_REAL = ("mem_bw_gbps", "peak_fp16_tflops", "peak_int8_tops", "idle_power_w", "idle_temp_c", "tdp_w", "die_link_gbps")
_NUMBERS = {column for column, _ in _WHOLE.values()} | set(_REAL)
_MAY_BE_ZERO = ("aiv_cnt", "aicpu_cnt", "die_link_gbps", "idle_power_w", "idle_temp_c")
_PEAKS = {"peak_fp16_tflops": "mac_per_cycle_fp16", "peak_int8_tops": "mac_per_cycle_int8"}


@cache
def cells() -> dict[str, dict[str, str]]:
    """The table as it is written, by soc_version name: cells hold notes such as "(unverified)" too."""
    return {r["soc"]: r for r in csv.DictReader(PATH.read_text(encoding="utf-8").splitlines())}


def record(r: Mapping[str, str]) -> Soc:
    """One row of the table as a chip."""
    whole = {field: _int(r.get(column, ""), default) for field, (column, default) in _WHOLE.items()}
    return Soc(
        name=r["soc"],
        npu_smi_name=r["npu_smi_name"],
        series=r["series"],
        arch=r["npu_arch"],
        memory_kind=r["mem_kind"],
        memory_gbps=_float(r["mem_bw_gbps"], 50.0),
        peak_fp16_tflops=_float(r["peak_fp16_tflops"], 1.0),
        idle_power_w=_number(r["idle_power_w"]),
        idle_temp_c=_number(r["idle_temp_c"]),
        tdp_w=_number(r["tdp_w"]),
        status=r["status"],
        die_link_gbps=_float(r.get("die_link_gbps", "")),
        like=r.get("like", ""),
        **whole,
    )


@cache
def table() -> dict[str, Soc]:
    """All chips by soc_version name, in the table's order."""
    return {name: record(row) for name, row in cells().items()}


def of_file(path: Path) -> Soc:
    """A chip of the user's own, as described() reads it."""
    return record(cells_of_file(path))


def described(name: str) -> dict[str, str]:
    """The cells of a chip by name or file. KeyError for an unknown name, ValueError for a bad file."""
    if name.endswith(FILES):
        return cells_of_file(Path(name))
    return cells().get(find(name).name) or cells_of_file(Path(os.environ[OWN]))


def cells_of_file(path: Path) -> dict[str, str]:
    """A chip of the user's own: a TOML file with `name`, `like` (a chip of the table) and the columns that differ, or a CSV file
    with the table's header and one row.

    ValueError names what is wrong: no such file, a column the table does not have, no known chip to be like.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from error
    given = _of_toml(text, path) if path.suffix == ".toml" else next(csv.DictReader(text.splitlines()), {})
    like = str(given.pop("like", "")) or DEFAULT
    base = cells().get(like) or cells().get(f"Ascend{like}")
    if base is None:
        raise ValueError(f"{path}: like = {like!r} is no chip of the table")
    unknown = sorted(set(given) - set(base) - {"name"})
    if unknown:
        raise ValueError(f"{path}: {unknown[0]!r} is no column of the chip table")
    name = str(given.pop("name", "") or given.get("soc", "") or path.stem)
    changed = {k: str(v) for k, v in given.items() if v not in (None, "")}
    for column in [k for k in changed if k in _NUMBERS]:
        if _number(changed[column]) is None:
            raise ValueError(f"{path}: {column} = {changed[column]!r} is no number")
        if changed[column].startswith("-") or (column not in _MAY_BE_ZERO and not _number(changed[column])):
            raise ValueError(f"{path}: {column} = {changed[column]} has to be above 0")
    told = {"soc": name, "like": base["soc"], "status": f"of {path.name}, else as {base['soc']}"}
    return {**base, **_peaks({**base, **changed}, changed), **changed, **told}


def _peaks(cells: Mapping[str, str], changed: Mapping[str, str]) -> dict[str, str]:
    """The peaks that follow where cores, clock or width of the cube are changed: two operations for each multiply-accumulate."""
    made = {}
    for peak, width in _PEAKS.items():
        sources = ("aic_cnt", "cube_freq_mhz", width)
        if set(sources) & set(changed):
            aic, mhz, macs = (_float(cells[column]) for column in sources)
            made[peak] = f"{2 * aic * mhz * macs / 1e6:.1f}"
    return made


def _of_toml(text: str, path: Path) -> dict[str, str]:
    import tomllib

    try:
        return {k: str(v) for k, v in tomllib.loads(text).items()}
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: {error}") from error


def find(name: str) -> Soc:
    """The chip of that soc_version; 'Ascend910B3', '910B3' and any letter case are accepted, and the path of a chip file.

    A name the table does not have may be that of the file in NPU_SOC. KeyError for an unknown one, ValueError for a bad file.
    """
    if name.endswith(FILES):
        return of_file(Path(name))
    wanted = name.strip().lower().removeprefix("ascend")
    for soc_name, soc in table().items():
        if soc_name.lower().removeprefix("ascend") == wanted:
            return soc
    own = os.environ.get(OWN, "")
    if own.endswith(FILES):
        soc = of_file(Path(own))
        if soc.name == name:
            return soc
    raise KeyError(name)
