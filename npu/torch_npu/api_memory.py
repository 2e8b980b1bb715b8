"""torch.npu: what the caching allocator holds, and what the device has."""

from __future__ import annotations

from typing import Any

from npu.runtime import process as processes
from npu.torch_npu import api_device, memory, place
from npu.torch_npu.allocator import Cache

__all__ = [
    "empty_cache", "max_memory_allocated", "max_memory_cached", "max_memory_reserved", "mem_get_info", "memory_allocated",
    "memory_cached", "memory_reserved", "memory_snapshot", "memory_stats", "memory_summary", "reset_accumulated_memory_stats",
    "reset_max_memory_allocated", "reset_max_memory_cached", "reset_peak_memory_stats", "set_per_process_memory_fraction",
]  # fmt: skip


def _cache(device: Any) -> Cache:
    """The cache of a device, after what has died is given back."""
    number = api_device.checked(device)
    with place.inside() as (process, thread):
        memory.reap(process, thread)
        return memory.of(process).caches.get(number) or Cache()


def memory_allocated(device: Any = None) -> int:
    """Bytes of living tensors, in blocks of 512."""
    return _cache(device).allocated


def max_memory_allocated(device: Any = None) -> int:
    return _cache(device).peak_allocated


def memory_reserved(device: Any = None) -> int:
    """Bytes held from the driver."""
    return _cache(device).reserved


def max_memory_reserved(device: Any = None) -> int:
    return _cache(device).peak_reserved


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    cache = _cache(device)
    cache.peak_allocated, cache.peak_reserved = cache.allocated, cache.reserved


reset_max_memory_allocated = reset_max_memory_cached = reset_accumulated_memory_stats = reset_peak_memory_stats


def empty_cache() -> None:
    """Give segments that hold nothing back to the driver, on every device in use."""
    with place.inside() as (process, thread):
        for device in list(memory.of(process).caches):
            place.on(process, thread, device)
            memory.empty(process, thread, device)
        place.on(process, thread, place.seats.mine.device)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """(free, total) bytes of the device, over all processes."""
    return api_device.memory_kinds(device)


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """The most this process may hold, as a share of the device. ValueError outside 0 to 1."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    number = api_device.checked(device)
    memory.of(processes.current()).cache(number).limit = max(1, int(mem_get_info(number)[1] * fraction))


def memory_stats(device: Any = None) -> dict[str, int]:
    """The counters of the cache under the names torch gives them."""
    cache = _cache(device)
    made = {"num_alloc_retries": cache.retries, "num_ooms": cache.ooms, "segment.all.current": cache.segments,
            "allocation.all.allocated": cache.count}  # fmt: skip
    for name, now, peak in (
        ("allocated_bytes", cache.allocated, cache.peak_allocated),
        ("active_bytes", cache.allocated, cache.peak_allocated),
        ("reserved_bytes", cache.reserved, cache.peak_reserved),
    ):
        made |= {f"{name}.all.current": now, f"{name}.all.peak": peak}
    return made


def memory_snapshot() -> list[dict[str, Any]]:
    """Living blocks with their segments."""
    held = [h for h in memory.of(processes.current()).held.values() if h() is not None]
    return [{"device": h.device, "address": h.block.address, "size": h.block.size, "segment": h.block.segment, "state":
        "active_allocated"}
            for h in held]  # fmt: skip


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The figures of memory_stats, one a line."""
    return "\n".join(f"{name:<32} {value:>16}" for name, value in memory_stats(device).items())
