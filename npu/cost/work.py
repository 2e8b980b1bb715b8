"""What a kernel has to do (Work), and what that costs on a chip (Cost). Plain values; a model file stores Work, never times."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one kernel.

    form: matmul | conv | depthwise | vector | row | across | layout | fill | attention | grouped_matmul | aicpu | scheduled.
    op: the operator type as profiles name it (Add, Gelu, RmsNorm, TransData ...); chooses constants within the form.
    dtype: element type of the computation: float16, float32, bfloat16, int8, int32, int64, bool.
    dims: matmul (batch, m, n, k); conv and depthwise (n, ho, wo, co, ci_per_group, kh, kw, groups);
          attention (batch, heads, sq, skv, d); grouped_matmul (experts, m, n, k); scheduled: npu.cost.scheduled; across
          (elements, rows, steps): a reduction or softmax along an axis that is not the last, rows what lies before it, steps its
          length; all others (elements, rows).
    read_bytes, write_bytes: global-memory traffic if every operand is touched once, in its storage format.
    epilogue: element operations fused behind the main part (bias, activation ...), counted in elements.
    schedule: what tuning chose instead of the library's own schedule (npu.cost.schedules says what a form takes); () is the own.
    """

    form: str
    op: str
    dtype: str
    dims: tuple[int, ...]
    read_bytes: int
    write_bytes: int
    epilogue: int = 0
    schedule: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one uncontended run. Times in ns; 0.0 where a unit has no part in the kernel.

    task_type: AI_CORE | AI_VECTOR_CORE | MIX_AIC | MIX_AIV | AI_CPU.
    hbm_share: the part of HBM bandwidth the kernel demands while it runs, 0..1 (contention is the device's business).
    aic_time, aiv_time: mean time a core of that kind is busy; unit times (mac, vec, mte ...) overlap within it.
    """

    duration: int
    task_type: str
    block_dim: int
    mix_block_dim: int = 0
    hbm_share: float = 0.0
    flops: float = 0.0
    aic_time: float = 0.0
    aic_mac: float = 0.0
    aic_scalar: float = 0.0
    aic_mte1: float = 0.0
    aic_mte2: float = 0.0
    aic_fixpipe: float = 0.0
    aic_icache_miss: float = 0.0
    aiv_time: float = 0.0
    aiv_vec: float = 0.0
    aiv_scalar: float = 0.0
    aiv_mte2: float = 0.0
    aiv_mte3: float = 0.0
    aiv_icache_miss: float = 0.0


# Which dim of a form grows with the data: images, rows of the left matrix, sequences, elements with their rows.
GROWS = {"matmul": (1,), "conv": (0,), "depthwise": (0,), "attention": (0,), "grouped_matmul": (1,)}


def scaled(work: Work, share: float) -> Work:
    """The work of the same kernel on `share` times as much data (a larger batch). Exact for the batch; for other open
    dims, such as a sequence whose attention grows with its square, an estimate from below. A tuned schedule is for its size."""
    if share == 1:
        return work
    grows = GROWS.get(work.form, (0, 1))
    dims = tuple(max(1, round(d * share)) if at in grows else d for at, d in enumerate(work.dims))
    read, written, behind = (round(count * share) for count in (work.read_bytes, work.write_bytes, work.epilogue))
    return replace(work, dims=dims, read_bytes=read, write_bytes=written, epilogue=behind, schedule=())
