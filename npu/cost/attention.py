"""Fused attention: one kernel for softmax(Q K^T) V, as FusedInferAttentionScore and FlashAttentionScore.

With B batches, H heads, C cube cores, F = 4*B*H*Sq*Skv*D operations and q = ceil(tasks/C)*C/tasks (the last wave):
  prefill (Sq > 16): tasks = B*H*ceil(Sq/128); T = t0 + join(F*q/(peak*0.89), bytes*q/0.32, B*H*Sq*Skv*q/770e3), p 0.97
  decode: tasks = B*KV heads; T = t0 + join((KV bytes*q + QO bytes)/1.32, F*pad/(peak*0.89)), p 3.75;
          pad = max(1, 16/query rows per task), as the cube multiplies rows of 16
A causal mask halves the work: callers give as Skv the mean number of keys a query meets (S/2 for a square causal mask).
KV heads are read off the bytes. Fit to an A3 die; median error 11 % for prefill, 20 % for decode.
"""

from __future__ import annotations

from math import ceil

from npu.cost import chip, pmu
from npu.cost.matmul import MAC_MARGIN
from npu.cost.tiling import P, padded, slowdown
from npu.cost.work import Cost, Work
from npu.soc import Soc

T0_US = 15.0  # bare kernel: FIA averages 15.5 us in an A3 decode trace (44-46 us under the wrapper of an event loop)
ETA = 0.89
PREFILL_TBPS, DECODE_TBPS = 0.32, 1.32
SOFTMAX_PER_US = 770e3  # elements all vector cores pass through the online softmax
PREFILL_P = 0.97
QUERY_BLOCK = 128
DECODE_QUERIES = 16  # one cube row block: up to here a task's queries share one pass over the keys

# Unit shares of core time in the 4096x2x512 forward (910B3, 410 us): vec 0.63 where the softmax term alone gives 0.26;
# the other shares are those of FlashAttentionScoreGrad on 910B3.
VECTOR_PER_SOFTMAX = 2.4
SHARES = {
    "aic_scalar": 0.45, "aic_mte1": 0.32, "aic_mte2": 0.52, "aic_fixpipe": 0.5,
    "aiv_scalar": 0.19, "aiv_mte2": 0.44, "aiv_mte3": 0.34,
}


def waves(tasks: float, cores: int) -> float:
    """How much longer equal tasks take because the last wave is not full: 25 tasks on 24 cores -> 1.92."""
    return ceil(tasks / cores) * cores / tasks


def kv_bytes(work: Work) -> int:
    """Bytes read besides the queries: keys and values."""
    batch, heads, sq, _skv, d = work.dims
    return max(0, work.read_bytes - batch * heads * sq * d * chip.itemsize(work.dtype))


def kv_heads(work: Work) -> float:
    """Key-value heads that explain these bytes, 1..heads; a fraction where masks and other inputs are read too."""
    batch, heads, _sq, skv, d = work.dims
    return min(float(heads), max(1.0, kv_bytes(work) / (2 * batch * skv * d * chip.itemsize(work.dtype))))


def attention(work: Work, soc: Soc) -> Cost:
    """Cost of an attention Work, dims (batch, heads, sq, skv, d)."""
    batch, heads, sq, skv, d = work.dims
    scores = batch * heads * sq * skv
    flops = 4.0 * scores * d
    per_us = 2 * soc.aic * soc.mac_fp16 * soc.cube_mhz * ETA / slowdown(work.dtype, soc)
    memory = soc.memory_gbps / chip.REFERENCE_GBPS
    count = work.read_bytes + work.write_bytes
    softmax = scores / (SOFTMAX_PER_US * chip.core_ratio(soc))
    if sq > DECODE_QUERIES:
        tasks, pad = float(batch * heads * ceil(sq / QUERY_BLOCK)), 1.0
        q = waves(tasks, soc.aic)
        main = chip.join(flops * q / per_us, count * q / (PREFILL_TBPS * memory) / 1e6, softmax * q, p=PREFILL_P)
    else:
        tasks, pad = batch * kv_heads(work), max(1.0, 16 * kv_heads(work) / (heads * sq))
        keys = kv_bytes(work)
        moved = (keys * waves(tasks, soc.aic) + count - keys) / (DECODE_TBPS * memory) / 1e6
        main = chip.join(moved, flops * pad / per_us, p=P)
    cores = min(ceil(tasks), soc.aic)
    volume = 2.0 * batch * heads * (sq if pad > 1 else padded(sq, 16)) * padded(skv, 16) * padded(d, 16) * pad
    mac = volume * slowdown(work.dtype, soc) / (soc.mac_fp16 * cores * soc.cube_mhz) * MAC_MARGIN
    return _units(work, soc, T0_US + main, mac, softmax * VECTOR_PER_SOFTMAX * soc.aic / cores, cores, flops)


def _units(work: Work, soc: Soc, us: float, mac: float, vec: float, cores: int, flops: float) -> Cost:
    duration = max(1, round(us * 1000))
    core = pmu.core_us(us)
    busy = (us - T0_US) / us
    ns = 1000.0
    times = {n: share * busy * core * ns for n, share in SHARES.items()}
    if not soc.split:
        times |= {"aiv_scalar": 0.0, "aiv_mte2": 0.0}
    return Cost(
        duration=duration,
        task_type="MIX_AIC" if soc.split else "AI_CORE",
        block_dim=cores,
        mix_block_dim=cores * soc.aiv // soc.aic if soc.split else 0,
        hbm_share=chip.memory_share(work, duration, soc),
        flops=flops + work.epilogue,
        aic_time=core * ns,
        aic_mac=min(mac, core) * ns,
        aic_icache_miss=pmu.cube_miss_rate(core),
        aiv_time=core * ns if soc.split else 0.0,
        aiv_vec=min(vec, core) * ns,
        aiv_icache_miss=pmu.vector_miss_rate(core) if soc.split else 0.0,
        **times,
    )
