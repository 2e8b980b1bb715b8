"""The rules in the order of the catalogue. A rule is one function `Context -> Iterable[Finding]` in a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from profiler.analysis.context import Context
from profiler.analysis.needs import (
    BUFFERS,
    CALLS,
    FORMATS,
    HOST_MEMORY,
    LAUNCHES,
    MARKERS,
    OPERATORS,
    SHAPES,
    STEP_MARKERS,
    TASKS,
    Need,
)
from profiler.analysis.rules import (
    alloc_in_loop,
    api_outliers,
    blocking_copy,
    capture_incomplete,
    capture_overhead,
    cast_storm,
    contiguous_copies,
    copy_exposed,
    copy_slow,
    create_destroy_in_loop,
    device_wide_sync,
    dynamic_fallback,
    false_dependency,
    first_step_compile,
    full_precision_cube,
    graph_replay_miss,
    host_preprocess,
    implicit_sync,
    input_starved,
    launch_bound,
    layout_storm,
    missing_gears,
    no_steady_state,
    one_stream,
    online_compile,
    pageable_copy,
    per_tensor_optimizer,
    ping_pong,
    post_process_serial,
    preprocess_on_device,
    python_gc,
    repeated_upload,
    shape_churn,
    single_op_mode,
    small_copies,
    small_kernel_chain,
    step_start_stall,
    sync_every_submit,
    sync_memset,
    thread_contention,
    unaligned_copy,
    unfused_pattern,
    weight_layout,
    zero_fill,
)
from profiler.findings import Finding


class Rule(NamedTuple):
    """needs: what a trace must hold for the full form of the rule; without it the rule says nothing or a weaker thing.
    also: ids of further findings it may give."""

    number: int
    id: str
    layer: str
    run: Callable[[Context], Iterable[Finding]]
    needs: tuple[Need, ...] = ()
    also: tuple[str, ...] = ()


ALSO = {
    "capture-overhead": ("capture-heavy",),
    "capture-incomplete": ("capture-dropped",),
    "sync-every-submit": ("sync-every-submit-sums",),
    "python-gc": ("gc-like-pauses",),
    "thread-contention": ("late-dequeue",),
    "alloc-in-loop": ("alloc-in-loop-sums",),
    "no-steady-state": ("step-modes", "step-trend", "outlier-step"),
}

RULES: tuple[Rule, ...] = tuple(
    Rule(name.number, name.id, name.layer, run, needs, ALSO.get(name.id, ()))
    for name, run, needs in (
        (capture_overhead.NAME, capture_overhead.capture_overhead, (TASKS, LAUNCHES)),
        (capture_incomplete.NAME, capture_incomplete.capture_incomplete, (TASKS, LAUNCHES)),
        (no_steady_state.NAME, no_steady_state.no_steady_state, ()),
        (online_compile.NAME, online_compile.online_compile, (CALLS,)),
        (first_step_compile.NAME, first_step_compile.first_step_compile, (CALLS,)),
        (single_op_mode.NAME, single_op_mode.single_op_mode, (TASKS, LAUNCHES)),
        (dynamic_fallback.NAME, dynamic_fallback.dynamic_fallback, (TASKS, LAUNCHES)),
        (missing_gears.NAME, missing_gears.missing_gears, (TASKS, LAUNCHES, SHAPES)),
        (shape_churn.NAME, shape_churn.shape_churn, (CALLS, SHAPES)),
        (unfused_pattern.NAME, unfused_pattern.unfused_pattern, (OPERATORS,)),
        (small_kernel_chain.NAME, small_kernel_chain.small_kernel_chain, (OPERATORS,)),
        (layout_storm.NAME, layout_storm.layout_storm, (OPERATORS,)),
        (weight_layout.NAME, weight_layout.weight_layout, (OPERATORS, SHAPES, FORMATS)),
        (cast_storm.NAME, cast_storm.cast_storm, (OPERATORS, SHAPES)),
        (contiguous_copies.NAME, contiguous_copies.contiguous_copies, (OPERATORS,)),
        (zero_fill.NAME, zero_fill.zero_fill, (OPERATORS,)),
        (per_tensor_optimizer.NAME, per_tensor_optimizer.per_tensor_optimizer, (OPERATORS,)),
        (full_precision_cube.NAME, full_precision_cube.full_precision_cube, (OPERATORS, SHAPES)),
        (graph_replay_miss.NAME, graph_replay_miss.graph_replay_miss, (TASKS, LAUNCHES)),
        (sync_every_submit.NAME, sync_every_submit.sync_every_submit, (CALLS, LAUNCHES)),
        (device_wide_sync.NAME, device_wide_sync.device_wide_sync, (CALLS, LAUNCHES)),
        (implicit_sync.NAME, implicit_sync.implicit_sync, (CALLS, LAUNCHES)),
        (launch_bound.NAME, launch_bound.launch_bound, (TASKS, LAUNCHES)),
        (host_preprocess.NAME, host_preprocess.host_preprocess, (CALLS, LAUNCHES)),
        (input_starved.NAME, input_starved.input_starved, (CALLS, TASKS, MARKERS)),
        (python_gc.NAME, python_gc.python_gc, (CALLS, TASKS)),
        (one_stream.NAME, one_stream.one_stream, (CALLS, LAUNCHES)),
        (false_dependency.NAME, false_dependency.false_dependency, (LAUNCHES, BUFFERS)),
        (step_start_stall.NAME, step_start_stall.step_start_stall, (TASKS, STEP_MARKERS)),
        (create_destroy_in_loop.NAME, create_destroy_in_loop.create_destroy_in_loop, (CALLS, LAUNCHES)),
        (thread_contention.NAME, thread_contention.thread_contention, (CALLS,)),
        (api_outliers.NAME, api_outliers.api_outliers, (CALLS,)),
        (post_process_serial.NAME, post_process_serial.post_process_serial, (CALLS, LAUNCHES)),
        (pageable_copy.NAME, pageable_copy.pageable_copy, (CALLS, HOST_MEMORY)),
        (blocking_copy.NAME, blocking_copy.blocking_copy, (CALLS, LAUNCHES)),
        (small_copies.NAME, small_copies.small_copies, (CALLS, LAUNCHES)),
        (repeated_upload.NAME, repeated_upload.repeated_upload, (LAUNCHES, SHAPES)),
        (ping_pong.NAME, ping_pong.ping_pong, (CALLS, LAUNCHES)),
        (copy_exposed.NAME, copy_exposed.copy_exposed, (CALLS, LAUNCHES)),
        (copy_slow.NAME, copy_slow.copy_slow, (TASKS,)),
        (unaligned_copy.NAME, unaligned_copy.unaligned_copy, (TASKS,)),
        (sync_memset.NAME, sync_memset.sync_memset, (CALLS, LAUNCHES)),
        (alloc_in_loop.NAME, alloc_in_loop.alloc_in_loop, (CALLS, LAUNCHES)),
        (preprocess_on_device.NAME, preprocess_on_device.preprocess_on_device, (LAUNCHES, SHAPES)),
    )
)
