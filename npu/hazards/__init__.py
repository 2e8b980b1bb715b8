"""Accesses to memory that nothing orders: vector clocks over streams, and what each byte was last used by.

Pure: it knows lanes (streams, and the host as one of them), operations, signals and ranges of blocks. What they are in a process
is npu.runtime.watch's business.
"""
