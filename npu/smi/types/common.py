"""`-t common`: the figures of a chip that people look at, then those of the card's controller (MCU)."""

from __future__ import annotations

from npu import soc
from npu.driver.door import DeviceInfo
from npu.smi import place
from npu.smi.asked import NA, SMALL, Asked, framed, key, known, percent


def common(asked: Asked) -> str:
    """`-t common`: use, clocks, temperature and power of the chips; the controller's block behind them."""
    def block(device: DeviceInfo) -> str:
        ddr = device.memory_used if not place.hbm(device) else device.ddr_used or 0
        total = device.memory_total if not place.hbm(device) else device.ddr_total or 0
        cores = None if place.family(device) == place.NEWEST else soc.find(device.soc).aic
        rows: list[tuple[str, object]] = [("Memory Usage Rate(%)", percent(ddr, total))]
        if place.hbm(device):
            rows.append(("HBM Usage Rate(%)", percent(device.memory_used, device.memory_total)))
        rows += [
            ("Aicore Usage Rate(%)", device.aicore),
            ("Aicore Freq(MHZ)", device.mhz),
            ("Aicore curFreq(MHZ)", device.mhz if device.current_mhz is None else device.current_mhz),
            ("Aicore Count", cores),
            ("Temperature(C)", device.temp_c),
        ]
        if place.family(device) != "310P":  # its power is the card's, in the controller's block
            rows.append(("Rated Power Dissipation(W)" if asked.family in SMALL else "NPU Real-time Power(W)", device.power_w))
        return "".join(key(name, known(value)) for name, value in rows)

    text = framed(asked, block, first=True)
    if asked.chip is not None or asked.family == place.NEWEST:
        return text
    text += key("Chip Name", "mcu") + key("Temperature(C)", NA)
    if asked.family == "310P":
        known_power = [device.power_w for device in asked.chips if device.power_w is not None]
        text += key("NPU Real-time Power(W)", f"{sum(known_power):.1f}" if known_power else NA)
    return text
