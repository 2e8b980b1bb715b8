"""GPU timelines (Kineto): kernels of NCCL are communication, as HolisticTraceAnalysis counts them; waits and copies have the names
of CUDA's runtime."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from profiler import open as open_trace
from profiler.analysis import analyze
from profiler.trace import Trace

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def kineto(tmp_path: Path, collective: str = NCCL, stream: int = 20, start: int = 600) -> Trace:
    """Six steps of 2000 with kernels from 100 to 1000 on stream 7 and one from `start` on, of 900, on another stream. The host waits
    for the device."""
    events: list[dict[str, object]] = []
    for step in range(6):
        begin = 10_000 + 2000 * step
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 9, "tid": 9, "ts": begin, "dur": 2000})
        for number, (name, at, length, lane) in enumerate((("sgemm", 100, 900, 7), (collective, start, 900, stream))):
            link = {"correlation": 10 * step + number, "stream": lane, "device": 0}
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": begin + 10 + 9 * number,
                           "dur": 5, "args": {"correlation": link["correlation"]}})  # fmt: skip
            events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": lane, "ts": begin + at, "dur": length, "args": link})
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 9, "tid": 9, "ts": begin + 30,
                       "dur": 1960, "args": {"correlation": 10 * step + 5}})  # fmt: skip
    info = {"backend": "nccl", "rank": 3, "world_size": 8}
    (tmp_path / "rank3.json").write_text(json.dumps({"schemaVersion": 1, "distributedInfo": info, "traceEvents": events}))
    return open_trace(tmp_path / "rank3.json")


def test_the_breakdown_tells_communication_from_computing(tmp_path: Path) -> None:
    trace = kineto(tmp_path)
    assert (len(trace.task), len(trace.comm)) == (6, 6)
    step = analyze(trace).breakdown[0]
    assert (step.computing, step.communication, step.overlapped) == (900_000, 900_000, 400_000)
    assert (step.communication_not_overlapped, step.free, step.stage) == (500_000, 0, 1_400_000)


@pytest.mark.parametrize("name", ["ncclKernel_SendRecv_RING_Simple", "rcclGenericKernel"])
def test_other_names(tmp_path: Path, name: str) -> None:
    assert len(kineto(tmp_path, name).comm) == 6


def test_other_kernels_stay_kernels(tmp_path: Path) -> None:
    trace = kineto(tmp_path, "my_nccl_like_kernel")
    assert (len(trace.task), len(trace.comm)) == (12, 0)


def test_what_no_kernel_covers_is_said(tmp_path: Path) -> None:
    found = {f.id: f for f in analyze(kineto(tmp_path, start=1000)).findings}
    assert next(iter(found)) == "exposed-communication-unsplit"
    assert found["exposed-communication-unsplit"].facts["exposed_ns"] == 6 * 900_000


def copying(tmp_path: Path, kind: str) -> Trace:
    """Five steps of ten copies of 4 MiB, 270 each, a kernel of 300 behind each of them, and a wait for it."""
    events: list[dict[str, object]] = []
    at, number = 1000, 0
    for step in range(5):
        begin = at
        for _ in range(10):
            for call, cat, name, length, more in (
                ("cudaMemcpyAsync", "gpu_memcpy", f"Memcpy HtoD ({kind} -> Device)", 270, {"bytes": 4 << 20}),
                ("cudaLaunchKernel", "kernel", "sgemm", 300, {}),
            ):
                number += 1
                link = {"correlation": number}
                taken = 280 if cat == "gpu_memcpy" else 6
                events.append({"ph": "X", "cat": "cuda_runtime", "name": call, "pid": 9, "tid": 9, "ts": at, "dur": taken, "args": link})
                facts = link | {"stream": 7, "device": 0} | more
                events.append({"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 7, "ts": at + 5, "dur": length, "args": facts})
                at += taken + 2
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": 9, "tid": 9, "ts": at, "dur": 301})
            at += 305
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 9, "tid": 9, "ts": begin, "dur": at - begin})
    (tmp_path / "trace.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return open_trace(tmp_path / "trace.json")


def test_copies_between_kernels_are_found(tmp_path: Path) -> None:
    found = {f.id: f for f in analyze(copying(tmp_path, "Pageable")).findings}
    assert next(iter(found)) == "copy-exposed"
    assert found["copy-exposed"].facts["pageable"] == found["copy-exposed"].facts["count"]
    assert found["pageable-copy"].facts["count"] == 50


def test_pinned_memory_is_told_apart(tmp_path: Path) -> None:
    found = {f.id: f for f in analyze(copying(tmp_path, "Pinned")).findings}
    assert "copy-exposed" in found and "pageable-copy" not in found
