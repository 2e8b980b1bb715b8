"""What hccl_test measured, as a reference for collectives: its table of sizes and times.

    data_size(Bytes): | aveg_time(us): | alg_bandwidth(GB/s): | check_result:
    1048576           | 85.30          | 12.29284             | success
"""

from __future__ import annotations

import re
from pathlib import Path

from profiler.trace import Unreadable

ROW = re.compile(r"\s*(\d{1,18})\s*\|\s*(\d{1,12}(?:\.\d+)?)\s*\|")
MOST_FILE = 1 << 20  # bytes; such a table has some dozen lines

Reference = tuple[tuple[int, int], ...]  # (bytes, ns), ascending by size


def read(path: Path) -> Reference:
    """The sizes and mean times of a file that holds the output of hccl_test. Unreadable when there are none."""
    try:
        with path.open("rb") as stream:
            text = stream.read(MOST_FILE).decode("utf-8", "replace")
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror or error}", "check the file and its rights") from error
    rows = {int(m[1]): round(float(m[2]) * 1000) for line in text.splitlines() if (m := ROW.match(line))}
    known = tuple(sorted((size, ns) for size, ns in rows.items() if size and ns))
    if not known:
        raise Unreadable(f"{path} holds no table of hccl_test", "save what it prints: hccl_test all_reduce ... > all_reduce.txt")
    return known
