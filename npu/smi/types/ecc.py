"""`-t ecc` and `-t ecc-enable`: memory errors counted. Simulated memory has those NPU_FAULT plans, and the counters are on."""

from __future__ import annotations

from npu.driver.door import DeviceInfo
from npu.smi import place
from npu.smi.asked import Asked, framed, key

WIDE = 40  # this type pads its keys wider than the others
COUNTS = ("Error Count", "Aggregate Total Err Cnt", "Isolated Pages Count")
NEXT = "Next-Isolated Pages Count"


def ecc(asked: Asked) -> str:
    """`-t ecc`: error counts of each memory pool; single-bit errors are not simulated and 0."""
    def block(device: DeviceInfo) -> str:
        if not place.hbm(device):
            kinds = ["DDR"]
        else:
            kinds = ["DDR", "HBM"] if device.ddr_total else ["HBM"]
        rows: list[tuple[str, int]] = []
        for kind in kinds:
            counts = COUNTS if asked.family == "910" else (*COUNTS, NEXT)
            own = _double(device) if kind == kinds[-1] else {}  # of the pool that scripts have
            for count in counts:
                rows += [(f"{kind} Single Bit {count}", 0), (f"{kind} Double Bit {count}", own.get(count, 0))]
        return "".join(key(name, value, WIDE) for name, value in rows)

    if asked.family in ("310", "310B"):
        return framed(
            asked,
            lambda device: key("Single-bit Error Count", 0, WIDE) + key("Double-bit Error Count", device.double_bits, WIDE),
            width=WIDE,
        )
    return framed(asked, block, width=WIDE)


def _double(device: DeviceInfo) -> dict[str, int]:
    """Count -> value, of double-bit errors. A page with one is taken out of use at once."""
    return dict(zip(COUNTS, (device.double_bits, device.double_bits, device.isolated), strict=True))


def ecc_enable(asked: Asked) -> str:
    """`-t ecc-enable`: error correction is always on."""
    def block(device: DeviceInfo) -> str:
        return key(f"{'HBM' if place.hbm(device) else 'DDR'} ECC-Enable Status", "True")

    return framed(asked, block)
