"""Names of API calls by what they do to the host, for traces that do not record it in a column. GPU timelines (Kineto) have
those of their runtimes."""

from __future__ import annotations

import numpy as np

from profiler.trace import Array, Trace

SYNC_STREAM = ("aclrtSynchronizeStream", "aclrtSynchronizeStreamWithTimeout", "cudaStreamSynchronize", "hipStreamSynchronize")
SYNC_DEVICE = ("aclrtSynchronizeDevice", "aclrtSynchronizeDeviceWithTimeout", "cudaDeviceSynchronize", "hipDeviceSynchronize")
SYNC_EVENT = ("aclrtSynchronizeEvent", "aclrtSynchronizeEventWithTimeout", "cudaEventSynchronize", "hipEventSynchronize")
SYNC = SYNC_STREAM + SYNC_DEVICE + SYNC_EVENT
EXECUTE = ("aclmdlExecute", "aclmdlExecuteV2", "aclmdlExecuteAsync", "aclmdlExecuteAsyncV2")
EXECUTE_BLOCKING = ("aclmdlExecute", "aclmdlExecuteV2")
COPY_BLOCKING = ("aclrtMemcpy", "aclrtMemcpy2d", "aclrtMemcpy2D", "aclrtMemset", "cudaMemcpy", "hipMemcpy")
COPY = (
    "aclrtMemcpy",
    "aclrtMemcpyAsync",
    "aclrtMemcpy2d",
    "aclrtMemcpy2D",
    "aclrtMemcpy2dAsync",
    "aclrtMemcpy2DAsync",
    "aclrtMemcpyAsyncWithCondition",
    "cudaMemcpy",
    "cudaMemcpyAsync",
    "hipMemcpy",
    "hipMemcpyAsync",
)
LOAD = ("aclmdlLoad", "aclopCompile", "aclGenGraph", "CompileGraph")  # beginnings: a step that holds one of these is warm-up


def column(trace: Trace, table: str, name: str) -> Array:
    """A column of api or task rows, all -1 where the source did not have it."""
    return (trace.api if table == "api" else trace.task).filled(name)


def blocking(trace: Trace) -> Array:
    """Mask of api rows that wait for the device: the recorded flag, by name where it was not recorded."""
    flag = column(trace, "api", "blocking")
    waits: Array = (flag == 1) | ((flag < 0) & trace.api_named(*SYNC, *COPY_BLOCKING, *EXECUTE_BLOCKING))
    return waits


def loads(trace: Trace) -> Array:
    """Mask of api rows that load or compile."""
    ids = trace.strings.matching(lambda text: text.startswith(LOAD))
    return np.isin(trace.api["name"], ids) if trace.api else np.zeros(0, bool)


def by_thread(trace: Trace) -> Array:
    """All calls by thread and start, outer ones first."""
    api = trace.api
    if not api:
        return np.zeros(0, np.int32)
    start, thread = api["start"], api["thread"]
    later = start[1:] > start[:-1]
    if later.all() and (thread[1:] == thread[:-1]).all():  # the order of most files of one thread
        return np.arange(len(api), dtype=np.int32)
    order: Array = np.lexsort((-api["end"], start, thread)).astype(np.int32)
    return order


def outer_calls(trace: Trace) -> Array:
    """Rows of calls that lie in no other call of their thread, by thread and start."""
    api, rows = trace.api, by_thread(trace)
    if not len(rows):
        return np.zeros(0, np.int64)
    start, end, thread = (np.take(api[n], rows) for n in ("start", "end", "thread"))
    apart = ((start[1:] >= end[:-1]) & (end[1:] > end[:-1])) | (thread[1:] != thread[:-1])
    if apart.all():
        return rows
    key = thread.astype(np.int64) * (int(end.max()) + 1) + end
    outer = np.ones(len(rows), bool)
    outer[1:] = key[1:] > np.maximum.accumulate(key)[:-1]
    found: Array = rows[outer]
    return found
