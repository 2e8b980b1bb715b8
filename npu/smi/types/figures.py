"""Types of one figure a chip: `-t temp`, `-t power`, `-t volt`."""

from __future__ import annotations

from npu.smi.asked import NA, SMALL, Asked, framed, key, known

SERVERS = ("910", "910B", "910_93", "950")  # boards that call the temperature the NPU's


def temp(asked: Asked) -> str:
    """`-t temp`: the temperature of each chip, C."""
    name = "NPU Temperature (C)" if asked.family in SERVERS else "Temperature (C)"
    return framed(asked, lambda device: key(name, known(device.temp_c)))


def power(asked: Asked) -> str | None:
    """310P cannot tell its chips' power; on 310 it is a rated constant."""
    if asked.family == "310P":
        return None
    name = "Rated Power Dissipation(W)" if asked.family in SMALL else "NPU Real-time Power(W)"
    return framed(asked, lambda device: key(name, known(device.power_w)))


def volt(asked: Asked) -> str:
    """The simulated device has no voltage."""
    return framed(asked, lambda _: key("Voltage(V)", NA))
