"""What a schedule may not do on a chip: more bytes than a buffer holds, transfers that are no whole blocks."""

from __future__ import annotations

from collections.abc import Mapping

from npu.soc import Soc

BLOCK = 32  # bytes of the smallest transfer (ubblock_size)
SCOPES = ("global", "local.UB", "local.L1", "local.L0A", "local.L0B", "local.L0C")


class TbeError(Exception):
    """A computation or schedule that cannot be. `what` happened, what to do `next`."""

    def __init__(self, what: str, next: str) -> None:
        super().__init__(f"{what}; {next}")
        self.what, self.next = what, next


def capacity(scope: str, chip: Soc) -> int:
    """Bytes of a buffer of one core; 0 for global memory, which is not checked here."""
    held = {"local.UB": chip.ub, "local.L1": chip.l1, "local.L0A": chip.l0a, "local.L0B": chip.l0b, "local.L0C": chip.l0c}
    return held.get(scope, 0)


def check_capacity(scope: str, held: Mapping[str, int], chip: Soc) -> None:
    """TbeError when what a core holds at once does not fit. held: name of a tensor -> bytes, double buffers counted twice."""
    total, room = sum(held.values()), capacity(scope, chip)
    if total > room:
        parts = ", ".join(f"{name} {size}" for name, size in held.items())
        raise TbeError(
            f"a tile needs {total} B of {scope} and {chip.name} has {room} B ({parts})",
            "split with a smaller factor, or drop a double buffer",
        )


def check_aligned(name: str, run: int, whole: bool) -> None:
    """TbeError when a transfer's contiguous run is no multiple of 32 B, unless it is the whole tensor (padded at its end)."""
    if run % BLOCK and not whole:
        raise TbeError(
            f"a transfer of {name} moves runs of {run} B, which are no multiple of {BLOCK} B",
            f"choose a factor whose innermost extent is a multiple of {BLOCK} B",
        )
