"""The counter groups of --aic-metrics besides PipeUtilization, from the same unit times and the bytes of a kernel.

All bandwidths are GB/s of one core: bytes a core moved over the time it was busy, as the real MemoryL0 files count them.
  main memory and L2   read and write bytes of the kernel, dealt evenly over its cores
  L1                   written by what comes from memory, read by what mte1 carries on to L0A and L0B
  L0A, L0B             mte1 moves 512 and 256 bytes a cycle (platform rates) and brings both the same bytes, so either
                       gets mte1 cycles / (1/512 + 1/256); what the cube reads of them and writes to L0C stands to that as
                       in a real file (FlashAttentionScore on 24 cores: L0B read twice as it was written, L0A and L0C 0.5)
  UB                   written by what comes in, read by what goes out; the vector unit reads two operands of 256 bytes a
                       cycle and writes one, the scalar unit moves 8 bytes a cycle
On split chips the columns carry aic_ or aiv_ and each kind of core only shows the buffers it has. L2 hits follow from the size
of what a kernel touches; conflicts of UB banks are counted as none: library kernels lay their operands out so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from npu.cost.chip import ghz
from npu.soc import Soc

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]

KB = 1024
LINE = 512  # bytes of a cache line
L0A_RATE, L0B_RATE = 512, 256  # bytes a cycle into them
L0B_READ, L0A_READ, L0C_WRITTEN = 2.0, 0.5, 0.5  # against what is written to L0B (from the file named above)
VECTOR_OPERANDS, SCALAR_BYTES = 2, 8


class Kernels(NamedTuple):
    """Equally long columns of the kernel table. core: ns a core of the kind is busy; cores: how many of it.

    dtype: "int8", "float16" ... of the computation, as one array of texts. units: unit times in ns without prefix.
    read, write: bytes of the whole kernel that this kind of core moves. flops: operations this kind computes.
    """

    core: Array
    cores: Array
    units: Mapping[str, Array]
    read: Array
    write: Array
    flops: Array
    dtype: np.ndarray
    soc: Soc


def _per_ns(part: Array, whole: Array) -> Array:
    import numpy as np

    made: Array = np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)
    return made


def _rate(k: Kernels, total: Array) -> Array:
    """GB/s of one core for bytes of the whole kernel."""
    import numpy as np

    return _per_ns(total / np.maximum(k.cores, 1), k.core)


def _cycles(k: Kernels, unit: str) -> Array:
    """Cycles of a unit of one core."""
    return k.units[unit] * ghz(k.soc)


def _into_l0(k: Kernels) -> Array:
    """Bytes mte1 brings to either of L0A and L0B of a core."""
    return _cycles(k, "mte1") / (1 / L0A_RATE + 1 / L0B_RATE)


def _of(k: Kernels, per_core: Array) -> Array:
    return _per_ns(per_core, k.core)


def _typed(unit: str, *dtypes: str) -> Callable[[Kernels], Array]:
    """The unit's share of core time where the kernel computes in one of these types, 0 elsewhere."""

    def share(k: Kernels) -> Array:
        import numpy as np

        return np.where(np.isin(k.dtype, dtypes), _per_ns(k.units[unit], k.core), 0.0 * k.core)

    return share


def _misc(k: Kernels) -> Array:
    import numpy as np

    known = np.isin(k.dtype, ("float32", "bfloat16", "float16", "int32"))
    return np.where(known, 0.0 * k.core, _per_ns(k.units["vec"], k.core))


def beyond_l2(touched: Array, l2: int) -> Array:
    """0 where the bytes a kernel touches stay in a cache of l2 bytes, 1 where all of them come from memory (as
    npu.cost.chip.bandwidth); NaN stays."""
    import numpy as np

    made: Array = np.clip(2 * touched / l2 - 1, 0.0, 1.0)
    return made


def _beyond(k: Kernels) -> Array:
    return beyond_l2(k.read + k.write, k.soc.l2)


def _hits(which: str, ports: int, missed: bool) -> Callable[[Kernels], Array]:
    def lines(k: Kernels) -> Array:
        import numpy as np

        total = getattr(k, which) / LINE / ports
        share = _beyond(k)
        return np.where(k.core > 0, np.round(total * (share if missed else 1 - share)), np.nan)

    return lines


def _kb(which: str) -> Callable[[Kernels], Array]:
    def amount(k: Kernels) -> Array:
        import numpy as np

        return np.where(k.core > 0, getattr(k, which) / KB, np.nan)

    return amount


def _time(unit: str) -> Callable[[Kernels], Array]:
    def us(k: Kernels) -> Array:
        import numpy as np

        return np.where(k.core > 0, k.units[unit] / 1000, np.nan)

    return us


def _ratio(unit: str) -> Callable[[Kernels], Array]:
    return lambda k: _per_ns(k.units[unit], k.core)


def _nothing(k: Kernels) -> Array:
    import numpy as np

    return np.where(k.core > 0, 0.0, np.nan)


def _flops(k: Kernels) -> Array:
    import numpy as np

    return np.where(k.core > 0, k.flops, np.nan)


def _bw(name: str) -> str:
    return f"{name}(GB/s)"


CUBE, VECTOR = "aic", "aiv"
Columns = tuple[tuple[str, Callable[[Kernels], "Array"]], ...]
_MAIN: Columns = (
    (_bw("l2_read_bw"), lambda k: _rate(k, k.read)),
    (_bw("l2_write_bw"), lambda k: _rate(k, k.write)),
    (_bw("main_mem_read_bw"), lambda k: _rate(k, k.read * _beyond(k))),
    (_bw("main_mem_write_bw"), lambda k: _rate(k, k.write * _beyond(k))),
)
_CACHE: Columns = (
    ("write_cache_hit", _hits("write", 1, False)),
    ("write_cache_miss_allocate", _hits("write", 1, True)),
    ("r0_read_cache_hit", _hits("read", 2, False)),
    ("r0_read_cache_miss_allocate", _hits("read", 2, True)),
    ("r1_read_cache_hit", _hits("read", 2, False)),
    ("r1_read_cache_miss_allocate", _hits("read", 2, True)),
)
_ACCESS: Columns = (("read_main_memory_datas(KB)", _kb("read")), ("write_main_memory_datas(KB)", _kb("write")))


def _pipes(*units: str) -> Columns:
    return tuple(pair for u in units for pair in ((f"{u}_exe_time(us)", _time(u)), (f"{u}_exe_ratio", _ratio(u))))


# group -> kind of core -> columns in file order
GROUPS: dict[str, dict[str, Columns]] = {
    "ArithmeticUtilization": {
        CUBE: (
            ("mac_fp16_ratio", _typed("mac", "float16", "bfloat16")),
            ("mac_int8_ratio", _typed("mac", "int8", "uint8")),
            ("cube_fops", _flops),
        ),
        VECTOR: (
            ("vec_fp32_ratio", _typed("vec", "float32", "bfloat16")),
            ("vec_fp16_ratio", _typed("vec", "float16")),
            ("vec_int32_ratio", _typed("vec", "int32")),
            ("vec_misc_ratio", _misc),
            ("vector_fops", _flops),
        ),
    },
    "Memory": {
        CUBE: (
            (_bw("l1_read_bw"), lambda k: _of(k, 2 * _into_l0(k))),
            (_bw("l1_write_bw"), lambda k: _rate(k, k.read)),
            *_MAIN,
        ),
        VECTOR: ((_bw("ub_read_bw"), lambda k: _rate(k, k.write)), (_bw("ub_write_bw"), lambda k: _rate(k, k.read)), *_MAIN),
    },
    "MemoryL0": {
        CUBE: (
            (_bw("l0a_read_bw"), lambda k: _of(k, L0A_READ * _into_l0(k))),
            (_bw("l0a_write_bw"), lambda k: _of(k, _into_l0(k))),
            (_bw("l0b_read_bw"), lambda k: _of(k, L0B_READ * _into_l0(k))),
            (_bw("l0b_write_bw"), lambda k: _of(k, _into_l0(k))),
            (_bw("l0c_read_bw_cube"), _nothing),
            (_bw("l0c_write_bw_cube"), lambda k: _of(k, L0C_WRITTEN * _into_l0(k))),
        ),
        VECTOR: ((_bw("l0c_read_bw"), _nothing), (_bw("l0c_write_bw"), _nothing)),
    },
    "MemoryUB": {
        CUBE: (),
        VECTOR: (
            (_bw("ub_read_bw_vector"), lambda k: _of(k, VECTOR_OPERANDS * k.soc.vec_bytes * _cycles(k, "vec"))),
            (_bw("ub_write_bw_vector"), lambda k: _of(k, k.soc.vec_bytes * _cycles(k, "vec"))),
            (_bw("ub_read_bw_scalar"), lambda k: _of(k, SCALAR_BYTES * _cycles(k, "scalar"))),
            (_bw("ub_write_bw_scalar"), lambda k: _of(k, SCALAR_BYTES * _cycles(k, "scalar"))),
        ),
    },
    "ResourceConflictRatio": {
        CUBE: (),
        VECTOR: (
            ("vec_bankgroup_cflt_ratio", _nothing),
            ("vec_bank_cflt_ratio", _nothing),
            ("vec_resc_cflt_ratio", _nothing),
        ),
    },
    "L2Cache": {CUBE: _CACHE, VECTOR: _CACHE},
    "MemoryAccess": {
        CUBE: (
            *_ACCESS,
            ("GM_to_L1_datas(KB)", _kb("read")),
            ("L0C_to_L1_datas(KB)", _nothing),
            ("L0C_to_GM_datas(KB)", _kb("write")),
        ),
        VECTOR: (*_ACCESS, ("GM_to_UB_datas(KB)", _kb("read")), ("UB_to_GM_datas(KB)", _kb("write"))),
    },
    "PipelineExecuteUtilization": {
        CUBE: _pipes("mac", "scalar", "mte1", "mte2", "fixpipe"),
        VECTOR: _pipes("vec", "scalar", "mte2", "mte3"),
    },
}
NAMES = ("PipeUtilization", *GROUPS)
_DTYPES = {
    "FLOAT": "float32", "FLOAT16": "float16", "DT_BF16": "bfloat16", "BF16": "bfloat16", "INT8": "int8", "UINT8": "uint8",
    "INT32": "int32", "INT64": "int64", "BOOL": "bool", "INT16": "int16",
}  # fmt: skip


def group_columns(group: str, kernels: Mapping[str, Array], dtypes: np.ndarray, soc: Soc) -> dict[str, Array]:
    """The columns of a group in file order, one value a row of the kernel table; NaN where a kind of core took no part.

    kernels: unit times in ns, block_dim, mix_block_dim, read_bytes, write_bytes, flops. dtypes: type of the first input of each
    kernel, as profiles name it (FLOAT16, DT_BF16 ...). KeyError for a group that is not in NAMES or is PipeUtilization.
    """
    import numpy as np

    columns = GROUPS[group]
    computed = np.array([_DTYPES.get(d, "") for d in dtypes.tolist()], dtype=object).astype(str)
    aic, aiv = np.asarray(kernels["aic_time"]), np.asarray(kernels["aiv_time"])
    blocks, mixed = np.asarray(kernels["block_dim"]), np.asarray(kernels["mix_block_dim"])
    read, write, flops = (np.asarray(kernels[n], np.float64) for n in ("read_bytes", "write_bytes", "flops"))

    def units(prefix: str) -> dict[str, Array]:
        return {n.removeprefix(prefix): np.asarray(v) for n, v in kernels.items() if n.startswith(prefix)}

    # a mixed kernel's operands enter and leave by the cube cores; its vector cores work on what those leave in L2
    alone = aic <= 0
    cube = Kernels(aic, blocks, units("aic_"), read, write, flops, computed, soc)
    own = Kernels(
        aiv,
        np.where(mixed > 0, mixed, blocks),
        units("aiv_"),
        np.where(alone, read, write),
        write,
        np.where(alone, flops, 0.0),
        computed,
        soc,
    )
    if not soc.split:  # one core holds both units
        both = units("aic_") | {n: v for n, v in units("aiv_").items() if n in ("vec", "mte3")}
        one = Kernels(aic, blocks, both, read, write, flops, computed, soc)
        merged = dict(columns[CUBE]) | dict(columns[VECTOR])
        return {name: value(one) for name, value in merged.items()}
    made = {"aicore_time(us)": np.where(aic > 0, aic / 1000, np.nan), "aic_total_cycles": _where(aic, aic * ghz(soc) * blocks)}
    made |= {f"{CUBE}_{name}": value(cube) for name, value in columns[CUBE]}
    made |= {"aiv_time(us)": np.where(aiv > 0, aiv / 1000, np.nan), "aiv_total_cycles": _where(aiv, aiv * ghz(soc) * own.cores)}
    return made | {f"{VECTOR}_{name}": value(own) for name, value in columns[VECTOR]}


def _where(core: Array, value: Array) -> Array:
    import numpy as np

    made: Array = np.where(core > 0, value, np.nan)
    return made
