"""Fused attention: one kernel for softmax(Q K^T) V, as FusedInferAttentionScore and FlashAttentionScore.

With B batches, H heads, C cube cores and one wave = one task for every core:
  prefill (Sq > 16): tasks = B*H*ceil(Sq/128), each meets ceil(Skv/128) blocks of keys;
           T = launch + waves*(task + blocks*block) + (bytes beyond L2)/spill; task and block grow with the head size
  decode:  tasks = B*KV heads; T = launch + batch*B + waves*wave + KV bytes/min(memory or L2 rate, cores*core rate), where a core
           takes at least 512 keys of a task
Skv is the number of keys a kernel walks over: a causal mask does not shorten that, in event loops of an A3 die as in single
kernels of 910B2 (4 x 1024 queries, 32 heads: 43 waves of 9.6 us where half of the blocks would take 6).
KV heads are read off the bytes. The constants stand in npu.cost.fits, their errors in docs/fidelity.md.
"""

from __future__ import annotations

from math import ceil

from npu.cost import chip, pmu
from npu.cost.fits import AttentionFit, attention_fit
from npu.cost.matmul import MAC_MARGIN
from npu.cost.tiling import REFERENCE_L2, padded, slowdown
from npu.cost.work import Cost, Work
from npu.soc import Soc

SOFTMAX_PER_US = 770e3  # elements all vector cores pass through the online softmax
QUERY_BLOCK = KEY_BLOCK = HEAD = 128
TRAINING = "FlashAttentionScore"  # also writes the softmax's maxima and sums
DECODE_KEYS = 512  # of a task are worth a core of their own
DECODE_QUERIES = 16  # one cube row block: up to here a task's queries share one pass over the keys

# Unit shares of core time in the 4096x2x512 forward (910B3, 410 us): vec 0.63 where the softmax term alone gives 0.52;
# the other shares are those of FlashAttentionScoreGrad on 910B3.
VECTOR_PER_SOFTMAX = 1.2
SHARES = {
    "aic_scalar": 0.45,
    "aic_mte1": 0.32,
    "aic_mte2": 0.52,
    "aic_fixpipe": 0.5,
    "aiv_scalar": 0.19,
    "aiv_mte2": 0.44,
    "aiv_mte3": 0.34,
}


def kv_bytes(work: Work) -> int:
    """Bytes read besides the queries: keys and values."""
    batch, heads, sq, _skv, d = work.dims
    return max(0, work.read_bytes - batch * heads * sq * d * chip.itemsize(work.dtype))


def kv_heads(work: Work) -> float:
    """Key-value heads that explain these bytes, 1..heads; a fraction where masks and other inputs are read too."""
    batch, heads, _sq, skv, d = work.dims
    return min(float(heads), max(1.0, kv_bytes(work) / (2 * batch * skv * d * chip.itemsize(work.dtype))))


def _beyond(count: float, warm_mb: float, cold_mb: float, soc: Soc) -> float:
    """0 where so many bytes stay in L2, 1 where all stream from memory."""
    share = soc.l2 / REFERENCE_L2
    return min(1.0, max(0.0, (count / 1e6 / share - warm_mb) / max(1e-3, cold_mb - warm_mb)))


def _prefill_us(work: Work, soc: Soc, fit: AttentionFit) -> float:
    batch, heads, sq, skv, d = work.dims
    clock, memory = chip.clock_ratio(soc), soc.memory_gbps / chip.REFERENCE_GBPS
    slow = slowdown(work.dtype, soc)
    task = fit.task + fit.task_width * d / HEAD
    block = fit.block + fit.block_width * slow * d / HEAD
    count = work.read_bytes + work.write_bytes
    spilled = count * _beyond(count, fit.spill_mb, fit.spilled_mb, soc) / (fit.spill * memory) / 1e6
    return ceil(batch * heads * ceil(sq / QUERY_BLOCK) / soc.aic) * (task + ceil(skv / KEY_BLOCK) * block) / clock + spilled


def _decode_us(work: Work, soc: Soc, fit: AttentionFit) -> float:
    batch, heads, _sq, skv, _d = work.dims
    clock, keys, shared = chip.clock_ratio(soc), kv_bytes(work), heads / kv_heads(work)
    tasks = batch * kv_heads(work)
    cores = min(soc.aic, tasks * max(1.0, min(soc.aic / tasks, ceil(skv / DECODE_KEYS))))
    far = _beyond(keys, fit.warm_mb, fit.cold_mb, soc)
    warm, hbm = soc.aic * fit.core * clock, fit.hbm * soc.memory_gbps / chip.REFERENCE_GBPS
    rate = min(warm, warm + (hbm - warm) * far)
    if far > 0 and 1 < shared < DECODE_QUERIES:
        rate *= fit.grouped
    moved = keys / min(rate, cores * fit.core * clock) / 1e6
    return fit.batch * batch + fit.wave * ceil(tasks / soc.aic) / clock + moved


def family(work: Work) -> str:
    """Which constants a kernel takes (npu.cost.fits)."""
    return "attention_training" if work.op.startswith(TRAINING) else "attention"


def attention(work: Work, soc: Soc, fit: AttentionFit | None = None) -> Cost:
    """Cost of an attention Work, dims (batch, heads, sq, skv, d)."""
    fit = attention_fit(family(work), soc.family) if fit is None else fit
    batch, heads, sq, skv, d = work.dims
    scores = batch * heads * sq * skv
    softmax = scores / (SOFTMAX_PER_US * chip.core_ratio(soc))
    if sq > DECODE_QUERIES:
        tasks, pad = float(batch * heads * ceil(sq / QUERY_BLOCK)), 1.0
        main = _prefill_us(work, soc, fit)
    else:  # the cube multiplies rows of 16
        tasks, pad = batch * kv_heads(work), max(1.0, 16 * kv_heads(work) / (heads * sq))
        main = _decode_us(work, soc, fit)
    cores = min(ceil(tasks), soc.aic)
    volume = 2.0 * batch * heads * (sq if pad > 1 else padded(sq, 16)) * padded(skv, 16) * padded(d, 16) * pad
    mac = volume * slowdown(work.dtype, soc) / (soc.mac_fp16 * cores * soc.cube_mhz) * MAC_MARGIN
    vec = softmax * VECTOR_PER_SOFTMAX * soc.aic / cores
    return _units(work, soc, main, fit.launch, mac, vec, cores, 4.0 * scores * d)


def _units(work: Work, soc: Soc, main: float, launch: float, mac: float, vec: float, cores: int, flops: float) -> Cost:
    us = launch + main
    duration = max(1, round(us * 1000))
    core = pmu.core_us(us)
    busy = main / us
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
