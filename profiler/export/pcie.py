"""pcie: shortest, largest and mean rate of each kind of packet on the link to the host."""

from __future__ import annotations

from pathlib import Path

from profiler.export import csvtext, series
from profiler.trace import Trace

NAME = "pcie"
HEADER = ("Device_id", "Mode", "Min", "Max", "Avg")
MODES = {
    "PCIe_post/Tx": "Tx_p_avg(MB/s)", "PCIe_nonpost/Tx": "Tx_np_avg(MB/s)", "PCIe_cpl/Tx": "Tx_cpl_avg(MB/s)",
    "PCIe_nonpost_latency/Tx": "Tx_latency_avg(us)", "PCIe_post/Rx": "Rx_p_avg(MB/s)", "PCIe_nonpost/Rx": "Rx_np_avg(MB/s)",
    "PCIe_cpl/Rx": "Rx_cpl_avg(MB/s)",
}  # fmt: skip


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file, one row per mode of a device in the real order; no file without such samples."""
    held = {(d, match[0]): values for d, match, values in series.named(trace, r"PCIe_\w+/[TR]x")}
    lines = [
        ",".join((str(device), mode, *map(csvtext.short3, (values.min(), values.max(), values.mean()))))
        for device in sorted({d for d, _ in held})
        for name, mode in MODES.items()
        if (values := held.get((device, name))) is not None
    ]
    return csvtext.write_table(folder, NAME, stamp, HEADER, [lines], len(lines)) if lines else []
