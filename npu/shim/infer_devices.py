"""MultiDeviceSession of ais_bench: the same model in a process for each set of feeds, on the devices they are for."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from multiprocessing import Pool
from typing import Any

from npu.shim.infer_session import SIZE, InferSession

MOST_PROCESSES = 64


class MultiDeviceSession:
    """summary: after each call, ms of each process by device."""

    def __init__(self, model_path: str, acl_json_path: str | None = None, debug: bool = False, loop: int = 1) -> None:
        self.model_path, self.acl_json_path, self.debug, self.loop = model_path, acl_json_path, debug, loop
        self.summary: dict[int, list[float]] = {}

    def infer(
        self, device_feeds: Mapping[int, Sequence[Any]], mode: str = "static", custom_sizes: int | Sequence[int] = SIZE
    ) -> dict[int, list[Any]]:  # fmt: skip
        """Outputs by device, one for each set of its feeds. RuntimeError for more than 64 sets."""
        return self._each("infer", device_feeds, (mode, custom_sizes))

    def infer_pipeline(
        self, device_feeds_list: Mapping[int, Sequence[Any]], mode: str = "static", custom_sizes: int | Sequence[int] = SIZE
    ) -> dict[int, list[Any]]:  # fmt: skip
        """As infer, each process taking a list of feeds."""
        return self._each("infer_pipeline", device_feeds_list, (mode, custom_sizes))

    def infer_iteration(
        self, device_feeds: Mapping[int, Sequence[Any]], in_out_list: Sequence[int] | None = None, iteration_times: int = 1,
        mode: str = "static", custom_sizes: int | Sequence[int] | None = None,
    ) -> dict[int, list[Any]]:  # fmt: skip
        """As infer, each process feeding outputs back into inputs (InferSession.infer_iteration)."""
        return self._each("infer_iteration", device_feeds, (in_out_list, iteration_times, mode, custom_sizes or SIZE))

    def _each(self, call: str, device_feeds: Mapping[int, Sequence[Any]], rest: tuple[Any, ...]) -> dict[int, list[Any]]:
        jobs = [(device, feeds) for device, sets in device_feeds.items() for feeds in sets]
        if not 1 <= len(jobs) <= MOST_PROCESSES:
            raise RuntimeError(f"{len(jobs)} processes: 1 to {MOST_PROCESSES}")
        session = (self.model_path, self.acl_json_path, self.debug, self.loop)
        with Pool(len(jobs)) as pool:
            made = pool.starmap(_one, [(session, call, device, feeds, rest) for device, feeds in jobs], chunksize=1)
        self.summary = {}
        outputs: dict[int, list[Any]] = {}
        for (device, _), (result, took) in zip(jobs, made, strict=True):
            outputs.setdefault(device, []).append(result)
            self.summary.setdefault(device, []).append(took)
        return outputs


def _one(session: tuple[Any, ...], call: str, device: int, feeds: Any, rest: tuple[Any, ...]) -> tuple[Any, float]:
    """What one process computes, and the ms it takes."""
    made = InferSession(device, *session)
    begun = time.perf_counter()
    outputs = getattr(made, call)(feeds, *rest)
    took = (time.perf_counter() - begun) * 1000
    made.free_resource()
    return outputs, took
