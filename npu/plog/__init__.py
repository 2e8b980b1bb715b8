"""Logs of the stack in the real layout: host lines (plog), lines of devices. Attached by the runtime, read by `npu-diag log`."""
