"""--reports: a JSON file that switches layers of the timeline off, {"json_process": {"hbm": false, ...}}."""

from __future__ import annotations

import json
from pathlib import Path

from cli.common import near
from cli.native.options import Refused

# All layers of the real timeline. Those that the simulated device has nothing for are known and hide nothing.
LAYERS = (
    "ascend", "acc_pmu", "cann", "ddr", "stars_chip_trans", "hbm", "communication", "hccs", "os_runtime_api", "network_usage",
    "disk_usage", "memory_usage", "cpu_usage", "msproftx", "npu_mem", "overlap_analyse", "pcie", "sio", "stars_soc", "step_trace",
    "freq", "llc", "nic", "roce", "qos", "device_tx",
)  # fmt: skip


def hidden_layers(path: str) -> frozenset[str]:
    """The layers that the file switches off. Refused for a file that cannot be read, is no such JSON, or names other layers."""
    try:
        said = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no JSON"
        raise Refused(f"Argument --reports: invalid value: {path}: {reason}.") from error
    switches = said.get("json_process") if isinstance(said, dict) else None
    if not isinstance(switches, dict) or not all(isinstance(v, bool) for v in switches.values()):
        form = '{"json_process": {"layer": true or false}}'
        raise Refused(f"Argument --reports: invalid value: {path}: it does not hold {form}.")
    for name in switches:
        if name not in LAYERS:
            close = near(name, list(LAYERS))
            hint = f" Did you mean {close}?" if close else ""
            raise Refused(f"Argument --reports: {path} names the layer {name}, which there is not.{hint}")
    return frozenset(name for name, wanted in switches.items() if not wanted)
