"""Rule 10: kernels that a fusion pass would have made one follow each other on a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from npu import cost
from npu.patterns import PATTERNS, Pattern
from profiler.analysis.calls import column
from profiler.analysis.context import Context
from profiler.analysis.conversion import unconverted
from profiler.analysis.eager import CALLS, eager
from profiler.analysis.edits import fuse
from profiler.analysis.groups import distinct, largest, sort_by
from profiler.analysis.judge import REPEAT_MIN, Name, judged
from profiler.analysis.shapes import BYTES, conv_work, shapes
from profiler.findings import Finding
from profiler.trace import Array

NAME = Name("unfused-pattern", 10, "graph")
EVIDENCE_MOST = 5
SHOWN = 3  # operators of a chain in a title


def unfused_pattern(context: Context) -> Iterator[Finding]:
    """Fires per family of fusions in npu.patterns whose kernels are adjacent on one stream of one launch, REPEAT_MIN times.

    Silent where another kernel of the launch reads the intermediate result (when reads and writes were recorded).
    Where the capture holds the conversion, it says why the model was left so: passes switched off, open shapes, or a refusal.
    Gain: the heads take over the tails' work, scaled by the model; the tails and their gaps fall away.
    """
    task = context.trace.task
    if "op_type" not in task:
        return
    rows = context.tasks_in_window(context.trace.tasks_of("kernel"))
    rows = rows[sort_by(np.take(context.basis.lanes, rows), np.take(task["start"], rows))]
    if len(rows) < 2:
        return
    same = np.ones(len(rows) - 1, bool)
    for values in (context.basis.lanes[rows], column(context.trace, "task", "correlation")[rows]):
        same &= values[1:] == values[:-1]
    if not same.any():
        return
    free = np.ones(len(rows), bool)  # kernels no earlier pattern has claimed
    found: dict[str, list[tuple[str, Array, Array]]] = {}
    for pattern in PATTERNS:
        heads, tails = occurrences(context, rows, same, free, pattern)
        free[heads] = free[tails] = False
        if len(heads):
            found.setdefault(pattern.family or pattern.name, []).append((pattern.name, heads, tails))
    for matches in found.values():
        heads, tails = (np.sort(np.concatenate([m[i] for m in matches])) for i in (1, 2))
        if len(heads) >= REPEAT_MIN:
            chain = _chain(context, rows, heads, tails)
            passes = ", ".join(dict.fromkeys(name for name, *_ in matches))
            yield _finding(context, passes, chain, rows[heads], rows[tails])


def _chain(context: Context, rows: Array, heads: Array, tails: Array) -> list[str]:
    """Operator types of the chain that loses most time in all."""
    task = context.trace.task
    kinds, lasted = task["op_type"][rows], (task["end"] - task["start"])[rows]
    ends = np.searchsorted(tails, heads)
    lost: dict[tuple[int, ...], int] = {}
    for head, first, last in zip(heads.tolist(), ends.tolist(), [*ends[1:].tolist(), len(tails)], strict=True):
        ops = (int(kinds[head]), *(int(k) for k in kinds[tails[first:last]]))
        lost[ops] = lost.get(ops, 0) + int(lasted[tails[first:last]].sum())
    best = max(lost, key=lambda ops: lost[ops])
    return [context.trace.strings[op] for op in best]


def occurrences(context: Context, rows: Array, same: Array, free: Array, pattern: Pattern) -> tuple[Array, Array]:
    """Positions of heads and of all kernels that would fall away."""
    known = {text for text in context.basis.types[0] if text is not None}
    steps = [known.intersection(step) for step in pattern.steps]
    shortest = len(steps) - pattern.optional_tail
    heads = np.zeros(0, np.int64)
    if not all(steps[:shortest]):
        return heads, heads
    alive = np.flatnonzero(context.basis.of_type(rows, steps[0].__contains__) & free)
    if pattern.vector_at == 0:
        alive = alive[_adds_vector(context, rows[alive])]
    tails: list[Array] = []
    for depth in range(1, min(len(steps), len(rows))):
        at = alive[alive + depth < len(rows)]
        at = at[same[at + depth - 1] & free[at + depth]]
        at = at[context.basis.of_type(rows[at + depth], steps[depth].__contains__)]
        if pattern.vector_at == depth:
            at = at[_adds_vector(context, rows[at + depth])]
        alive = at[~_read_elsewhere(context, rows, at + depth - 1, at + depth)]
        if depth == shortest - 1:
            heads = alive
        tails.append(alive + depth)
    # Only matches that reached the obligatory length count; what an optional step adds to them counts as well.
    kept = [t[np.isin(t - depth, heads)] for depth, t in enumerate(tails, 1)]
    return heads, np.sort(np.concatenate([heads[:0], *kept]))


def _adds_vector(context: Context, rows: Array) -> Array:
    """Mask: kernels one of whose first two operands is a vector (a bias); all where shapes were not recorded.

    A vector has at most one dimension other than 1, and the other operand is not of its shape."""
    task, text = context.trace.task, context.trace.strings
    if "in_shapes" not in task or not len(rows):
        return np.ones(len(rows), bool)
    kinds, place = distinct(task["in_shapes"][rows])
    vectors = [_has_vector(shapes(text[k])[:2]) for k in kinds[:, 0].tolist()]
    return np.asarray(vectors, bool)[place]


def _has_vector(operands: Sequence[tuple[int, ...] | None]) -> bool:
    if len(operands) == 2 and operands[0] == operands[1]:
        return False
    return any(s is not None and sum(dim != 1 for dim in s) <= 1 for s in operands)


def _read_elsewhere(context: Context, rows: Array, at: Array, after: Array) -> Array:
    """Mask: the buffer a kernel wrote is read by a kernel other than the one after it before it is written again."""
    writes, reads = context.trace.task.get("writes"), context.trace.task.get("reads")
    if writes is None or reads is None or not len(at):
        return np.zeros(len(at), bool)
    texts = context.trace.strings
    verdict: dict[tuple[int, int, int], bool] = {}
    result = np.zeros(len(at), bool)
    known = np.flatnonzero(writes[rows[at]] >= 0)
    if not len(known):
        return result
    correlation = column(context.trace, "task", "correlation")[rows]
    for i, head, tail in zip(known.tolist(), at[known].tolist(), after[known].tolist(), strict=True):
        written = int(writes[rows[head]])
        name = column(context.trace, "task", "name")[rows[head]]
        key = (int(name), written, int(reads[rows[tail]]))
        if key not in verdict:
            buffers = set(texts[written].split(";"))
            verdict[key] = False
            end = tail + 1
            while end < len(rows) and correlation[end] == correlation[head] and buffers:
                if buffers & set(texts[int(reads[rows[end]])].split(";")):
                    verdict[key] = True
                    break
                buffers -= set(texts[int(writes[rows[end]])].split(";"))
                end += 1
        result[i] = verdict[key]
    return result


def _finding(context: Context, passes: str, chain: list[str], heads: Array, tails: Array) -> Finding:
    task = context.trace.task
    ratios, modelled = _ratios(context, heads)
    duration = task["end"] - task["start"]
    order = heads[largest(duration[heads], EVIDENCE_MOST)]
    facts = {
        "pass": passes,
        "chain": " + ".join(chain),
        "short": " + ".join(chain[:SHOWN]) + (f" (+{len(chain) - SHOWN})" if len(chain) > SHOWN else ""),
        "count": len(heads),
        "kernels": len(tails),
        "per_step": round(len(heads) / context.count),
        "tails_ns": int(duration[tails].sum()),
        "intermediate_bytes": _intermediate(context, tails),
    }
    facts |= _conversion(context, passes, np.concatenate([heads, tails]))
    launched = context.launches.row[heads]
    return judged(
        context,
        NAME,
        facts,
        fuse(heads, tails, (duration[heads] * ratios).astype(np.int64)),
        confidence="high" if modelled else "medium",
        evidence=context.tasks_shown(order),
        sites=context.sites(launched[launched >= 0]),
        method="model",
        at_most=not modelled or facts.get("case") == "refused",  # not without a change of the model
    )


def _conversion(context: Context, passes: str, kernels: Array) -> dict[str, object]:
    """Facts about why the conversion left these kernels apart; none where the capture does not hold it."""
    task = context.trace.task
    if "name" not in task:
        return {}
    names = {context.trace.strings[i] for i in np.unique(task["name"][kernels]).tolist()}
    found = unconverted(context.trace, passes.split(", "), names)
    if not found.case and eager(context, kernels):
        calls = [CALLS[name] for name in passes.split(", ") if name in CALLS]
        return {"case": "eager", "call": ", ".join(calls)} if calls else {"case": "compile"}
    if not found.case:
        return {}
    return {"case": found.case, "refused": found.places, "node": found.node, "refusal": found.refusal}


def _ratios(context: Context, heads: Array) -> tuple[Array, bool]:
    """Per head: modelled duration with the tails' element work behind it over that without; and whether all could be modelled."""
    task, text = context.trace.task, context.trace.strings
    names = ("op_type", "in_shapes", "in_dtypes", "in_formats", "out_shapes", "out_formats")
    if any(n not in task for n in names):
        return np.ones(len(heads)), False
    kinds, position = distinct(*(task[n][heads] for n in names))
    ratios, complete = np.ones(len(kinds)), True
    for i, ids in enumerate(kinds.tolist()):
        work = conv_work(*(text[n] for n in ids))
        if work is None:
            complete = False
            continue
        n, ho, wo, co = work.dims[:4]
        alone, fused = (cost.kernel(w, context.chip).duration for w in (work, _with_epilogue(work, 2 * n * ho * wo * co)))
        ratios[i] = fused / alone
    return ratios[position.ravel()], complete


def _with_epilogue(work: cost.Work, elements: int) -> cost.Work:
    return cost.Work(work.form, work.op, work.dtype, work.dims, work.read_bytes, work.write_bytes, work.epilogue + elements)


def _intermediate(context: Context, tails: Array) -> int:
    """Bytes written and read back that fusion saves: twice the first input of every tail."""
    task, text = context.trace.task, context.trace.strings
    if "in_shapes" not in task or "in_dtypes" not in task:
        return 0
    kinds, place = distinct(task["in_shapes"][tails], task["in_dtypes"][tails])
    counts = np.bincount(place)
    total = 0
    for (shape, dtype), count in zip(kinds.tolist(), counts.tolist(), strict=True):
        first = shapes(text[shape])[0]
        size = BYTES.get(text[dtype].split(";")[0], 0)
        total += 2 * count * size * int(np.prod(first, dtype=np.int64)) if first else 0
    return total
