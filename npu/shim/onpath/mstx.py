"""The module that unmodified scripts import as `mstx`."""

from npu.shim.mstx import mark, mstx_range, range_end, range_start

__all__ = ["mark", "mstx_range", "range_end", "range_start"]
