"""Names of API calls by what they do to the host, for traces that do not record it in a column."""

from __future__ import annotations

import numpy as np

from profiler.trace import Array, Trace

SYNC_STREAM = ("aclrtSynchronizeStream", "aclrtSynchronizeStreamWithTimeout")
SYNC_DEVICE = ("aclrtSynchronizeDevice", "aclrtSynchronizeDeviceWithTimeout")
SYNC_EVENT = ("aclrtSynchronizeEvent", "aclrtSynchronizeEventWithTimeout")
SYNC = SYNC_STREAM + SYNC_DEVICE + SYNC_EVENT
EXECUTE = ("aclmdlExecute", "aclmdlExecuteV2", "aclmdlExecuteAsync", "aclmdlExecuteAsyncV2")
EXECUTE_BLOCKING = ("aclmdlExecute", "aclmdlExecuteV2")
COPY_BLOCKING = ("aclrtMemcpy", "aclrtMemcpy2d", "aclrtMemcpy2D", "aclrtMemset")
COPY = (
    "aclrtMemcpy",
    "aclrtMemcpyAsync",
    "aclrtMemcpy2d",
    "aclrtMemcpy2D",
    "aclrtMemcpy2dAsync",
    "aclrtMemcpy2DAsync",
    "aclrtMemcpyAsyncWithCondition",
)
LOAD = ("aclmdlLoad", "aclopCompile", "aclGenGraph")  # beginnings: a step that holds one of these is warm-up


def column(trace: Trace, table: str, name: str) -> Array:
    """A column of api or task rows, all -1 where the source did not have it."""
    columns = trace.api if table == "api" else trace.task
    found = columns.get(name)
    return np.full(len(columns), -1, np.int64) if found is None else found


def blocking(trace: Trace) -> Array:
    """Mask of api rows that wait for the device: the recorded flag, by name where it was not recorded."""
    flag = column(trace, "api", "blocking")
    waits: Array = (flag == 1) | ((flag < 0) & trace.api_named(*SYNC, *COPY_BLOCKING, *EXECUTE_BLOCKING))
    return waits


def loads(trace: Trace) -> Array:
    """Mask of api rows that load or compile."""
    ids = trace.strings.matching(lambda text: text.startswith(LOAD))
    return np.isin(trace.api["name"], ids) if trace.api else np.zeros(0, bool)


def outer_calls(trace: Trace) -> Array:
    """Rows of calls that lie in no other call of their thread, by thread and start."""
    api = trace.api
    if not api:
        return np.zeros(0, np.int64)
    order = np.lexsort((-api["end"], api["start"], api["thread"]))
    thread, end = api["thread"][order].astype(np.int64), api["end"][order].astype(np.int64)
    key = thread * (int(end.max()) + 1) + end
    outer = np.ones(len(order), bool)
    outer[1:] = key[1:] > np.maximum.accumulate(key)[:-1]
    rows: Array = order[outer].astype(np.int32)
    return rows
