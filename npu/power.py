"""Power and temperature of a device from how busy it is. Pure; the same figures for the same device and load."""

from __future__ import annotations

from npu.soc import Soc

# Parts of the way from idle to rated power that a fully busy unit takes. Unverified; they give the 212 W that a public
# 910B4 (85 W idle, 280 W rated) shows at 94 % cube use, and rated power when everything is busy.
CUBE, VECTOR, MEMORY = 0.65, 0.10, 0.25
IDLE_SPREAD = 0.16  # idle power of the devices of one server: 86-102 W on 910B3
IDLE_SPREAD_C = 9  # and their temperature; 32-54 C over all public 910B3 outputs, about 9 within one server
HEATING_C = 30  # from idle to rated power: 910B2 43 C at 93 W, 63 C at 418 W; 910B4 37 C and 58 C
ROOM_C = 25  # of the room those figures are of; unverified
LIMIT_C = 95  # from here on a device gives up clock; unverified: no public file states it
SETTLE_NS = 10_000_000_000  # in this time the difference to the final temperature falls to a third; unverified


def activity(aic: int, aiv: int, hbm: int) -> float:
    """0 idle .. 1 everything busy; shares and HBM demand 0..1000."""
    return min(1.0, (CUBE * aic + VECTOR * aiv + MEMORY * hbm) / 1000)


def spread(device: int) -> float:
    """0 <= x < 1, fixed for a device: multiples of the golden ratio lie evenly apart."""
    return device * 0.6180339887 % 1.0


def watts(chip: Soc, device: int, active: float) -> float | None:
    """Watts, one decimal. None where the chip table has no idle or no rated power: unknown, which is not zero.

    A3 dies have no rated power of their own in public tables; their idle power alone is known, so they stay at it.
    """
    if chip.idle_power_w is None:
        return None
    idle = chip.idle_power_w * (1 + IDLE_SPREAD * spread(device))
    rated = chip.tdp_w if chip.tdp_w is not None else idle
    return round(idle + (max(rated, idle) - idle) * active, 1)


def celsius(chip: Soc, device: int, active: float, ambient: float = ROOM_C) -> int | None:
    """Degrees, whole, in a room of that temperature; None where the chip table has no idle temperature. Its work makes it no
    hotter than LIMIT_C: before that it gives up clock."""
    if chip.idle_temp_c is None:
        return None
    idle = spread_celsius(chip, device, ambient)
    return round(max(idle, min(idle + HEATING_C * active, LIMIT_C)))


def spread_celsius(chip: Soc, device: int, ambient: float) -> float:
    """Degrees of an idle device; that of a chip without a figure counts as that of the default chip's family, 40."""
    idle = 40.0 if chip.idle_temp_c is None else float(chip.idle_temp_c)
    return idle + IDLE_SPREAD_C * spread(device) + ambient - ROOM_C
