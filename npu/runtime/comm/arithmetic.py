"""What a collective makes of the ranks' data, in bytes: plain numpy, in the order of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from npu.hccl.dtypes import DTYPES, MAX, MIN, PROD, SUM

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Data: TypeAlias = bytes | bytearray | memoryview


def reduced(parts: Sequence[Data], dtype: int, reduction: int) -> bytes:
    """Element by element over all parts, which have the same length; halves and integers wrap and round at every addition."""
    import numpy as np

    functions = {SUM: np.add, PROD: np.multiply, MAX: np.maximum, MIN: np.minimum}
    name = DTYPES[dtype].numpy
    function = functions[reduction]
    with np.errstate(all="ignore"):
        if name == "bfloat16":
            total = _wide(parts[0])
            for part in parts[1:]:
                total = _wide(_narrow(function(total, _wide(part))))
            return _narrow(total)
        result: NDArray[np.generic] = np.frombuffer(parts[0], name).copy()
        for part in parts[1:]:
            function(result, np.frombuffer(part, name), out=result)
    return result.tobytes()


def _wide(data: Data) -> NDArray[np.float32]:
    """bfloat16 as float32: its bits are the upper half."""
    import numpy as np

    return (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4")


def _narrow(values: NDArray[np.float32]) -> bytes:
    """float32 as bfloat16, to nearest even; NaN stays NaN."""
    import numpy as np

    bits = values.astype("<f4").view("<u4").astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), np.uint64(0x7FC0), rounded).astype("<u2").tobytes()
