"""`-t ecc` and `-t ecc-enable`: memory errors counted. Simulated memory has none, and the counters are on."""

from __future__ import annotations

from npu.driver.door import DeviceInfo
from npu.smi import place
from npu.smi.asked import Asked, framed, key

WIDE = 40  # this type pads its keys wider than the others
COUNTS = ("Error Count", "Aggregate Total Err Cnt", "Isolated Pages Count")
NEXT = "Next-Isolated Pages Count"


def ecc(asked: Asked) -> str:
    def block(device: DeviceInfo) -> str:
        if not place.hbm(device):
            kinds = ["DDR"]
        else:
            kinds = ["DDR", "HBM"] if device.ddr_total else ["HBM"]
        rows = []
        for kind in kinds:
            counts = COUNTS if asked.family == "910" else (*COUNTS, NEXT)
            rows += [f"{kind} {bits} Bit {count}" for count in counts for bits in ("Single", "Double")]
        return "".join(key(name, 0, WIDE) for name in rows)

    if asked.family in ("310", "310B"):
        names = ("Single-bit Error Count", "Double-bit Error Count")
        return framed(asked, lambda _: "".join(key(name, 0, WIDE) for name in names), width=WIDE)
    return framed(asked, block, width=WIDE)


def ecc_enable(asked: Asked) -> str:
    def block(device: DeviceInfo) -> str:
        return key(f"{'HBM' if place.hbm(device) else 'DDR'} ECC-Enable Status", "True")

    return framed(asked, block)
