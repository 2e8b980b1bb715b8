"""PipeUtilization columns from unit times: the identities that hold in real op_summary and kernel_details files.

total_cycles = core time * clock * blocks (vector side: Mix Block Dim if there is one); ratio = unit time / core time;
cube_utilization(%) = 100 * aic cycles / (Task Duration * clock * cube cores); memory_bound = mte2 / max(mac, vec).
Checked on the mstt files: cycles within 0.01 %, cube utilization within 0.001 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from npu.cost.chip import ghz
from npu.soc import Soc

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    Values: TypeAlias = float | NDArray[np.floating[Any]]
    Counts: TypeAlias = int | NDArray[np.integer[Any]]

_AIC = ("mac", "scalar", "mte1", "mte2", "fixpipe")
_AIV = ("vec", "scalar", "mte2", "mte3")
# unit of a combined core -> kernel-table column: cube and vector unit share scalar, mte2 and the clock of the core
_COMBINED = {
    "vec": "aiv_vec",
    "mac": "aic_mac",
    "scalar": "aic_scalar",
    "mte1": "aic_mte1",
    "mte2": "aic_mte2",
    "mte3": "aiv_mte3",
}


def _pair(unit: str) -> tuple[str, str]:
    return f"{unit}_time(us)", f"{unit}_ratio"


# Columns in file order: split chips (910B, A3), and the older ones whose cores hold both units.
PIPE_UTILIZATION: tuple[str, ...] = (
    "aicore_time(us)",
    "aic_total_cycles",
    *(c for u in _AIC for c in _pair(f"aic_{u}")),
    "aic_icache_miss_rate",
    "aiv_time(us)",
    "aiv_total_cycles",
    *(c for u in _AIV for c in _pair(f"aiv_{u}")),
    "aiv_icache_miss_rate",
    "cube_utilization(%)",
)
PIPE_UTILIZATION_COMBINED: tuple[str, ...] = (
    "aicore_time(us)",
    "total_cycles",
    *(c for u in _COMBINED for c in _pair(u)),
    "icache_miss_rate",
    "memory_bound",
)


def _where_busy(core: Values, value: Values) -> Values | None:
    """The value where the core took part, else None for a scalar, NaN in an array."""
    if isinstance(core, (int, float)):
        return value if core > 0 else None
    import numpy as np

    return np.where(core > 0, value, np.nan)


def _ratio(part: Values, whole: Values) -> Values:
    """part / whole; 0 where whole is 0."""
    if isinstance(whole, (int, float)):
        return part / whole if whole > 0 else 0.0
    import numpy as np

    made: NDArray[np.float64] = np.divide(part, whole, out=np.zeros(whole.shape), where=whole > 0)
    return made


def _larger(one: Values, other: Values) -> Values:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return max(one, other)
    import numpy as np

    return np.maximum(one, other)


def _core(
    units: Mapping[str, Values], core: Values, names: Mapping[str, str], heads: tuple[str, str], blocks: Counts, soc: Soc
) -> dict[str, Values | None]:
    """Core time, cycles and the units of one kind of core; names: column prefix -> key of units."""
    made: dict[str, Values] = {heads[0]: core / 1000, heads[1]: core * ghz(soc) * blocks}
    for prefix, key in names.items():
        time_name, ratio_name = _pair(prefix)
        made[time_name] = units[key] / 1000
        made[ratio_name] = _ratio(units[key], core)
    return {name: _where_busy(core, value) for name, value in made.items()}


def pipe_utilization(
    duration_ns: Values, block_dim: Counts, mix_block_dim: Counts, units: Mapping[str, Values], soc: Soc
) -> dict[str, Values | None]:
    """The PipeUtilization columns of kernels, in file order, for scalars or for equally long arrays.

    duration_ns: Task Duration. units: unit times in ns under the kernel table's names (aic_time, aic_mac, ... , and the
    two icache_miss rates) for a run of that duration; scale them first if contention stretched it. A core that took no
    part gives None (NaN in arrays) in all its columns; real files print 0.0 there for kernels and N/A for other tasks.
    On combined chips (910A, 310P) the columns have no prefix and aic_time is the time of the one core.
    """
    if not soc.split:
        return _combined(block_dim, units, soc)
    aic, aiv = units["aic_time"], units["aiv_time"]
    cube = _core(units, aic, {f"aic_{u}": f"aic_{u}" for u in _AIC}, ("aicore_time(us)", "aic_total_cycles"), block_dim, soc)
    vector_blocks = block_dim + (mix_block_dim - block_dim) * (mix_block_dim > 0)
    vector = _core(units, aiv, {f"aiv_{u}": f"aiv_{u}" for u in _AIV}, ("aiv_time(us)", "aiv_total_cycles"), vector_blocks, soc)
    made = cube | vector
    made["aic_icache_miss_rate"] = _where_busy(aic, units["aic_icache_miss"])
    made["aiv_icache_miss_rate"] = _where_busy(aiv, units["aiv_icache_miss"])
    made["cube_utilization(%)"] = _where_busy(aic, 100 * _ratio(aic * block_dim, duration_ns * soc.aic))
    return {name: made[name] for name in PIPE_UTILIZATION}


def _combined(block_dim: Counts, units: Mapping[str, Values], soc: Soc) -> dict[str, Values | None]:
    core = units["aic_time"]
    made = _core(units, core, _COMBINED, ("aicore_time(us)", "total_cycles"), block_dim, soc)
    made["icache_miss_rate"] = _where_busy(core, units["aic_icache_miss"])
    made["memory_bound"] = _where_busy(core, _ratio(units["aic_mte2"], _larger(units["aic_mac"], units["aiv_vec"])))
    return {name: made[name] for name in PIPE_UTILIZATION_COMBINED}
