"""msprof_tx: one row per mark or range the program set, with its times on the device where it was set on a stream."""

from __future__ import annotations

from pathlib import Path

from npu.units import us3
from profiler.export import chrome, columns, csvtext
from profiler.export.marks import marks
from profiler.trace import Trace

NAME = "msprof_tx"
HEADER = ("Device_id", "pid", "tid", "category", "event_type", "payload_type", "payload_value", "Start_time(us)", "End_time(us)",
          "message_type", "message", "domain", "Device Start_time(us)", "Device End_time(us)")  # fmt: skip


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file; no file without marks. Category, payload and message type, which the C interface has and these calls have not,
    are N/A."""
    found = marks(trace)
    if found is None:
        return []
    zero, na = chrome.unix_zero(trace), csvtext.NA
    rows, pid = found.rows, int(trace.meta.get("pid", 0))
    names = columns.texts_of(trace.strings, rows["name"], na)
    domains = columns.texts_of(trace.strings, columns.column(rows, "domain"), "default")
    lines = []
    for n, (name, domain, event) in enumerate(zip(names, domains, found.event, strict=True)):
        host = [us3(int(rows[c][n]) + zero) for c in ("start", "end")]
        device = [f"{us3(int(t[n]) + zero)}\t" if t[n] >= 0 else na for t in (found.device_start, found.device_end)]
        where = str(int(found.device[n])) if found.device[n] >= 0 else "host"
        lines.append(
            f"{where},{pid},{int(found.thread[n])},{na},{event},{na},{na},{host[0]}\t,{host[1]}\t,{na},{csvtext.field(name)},"
            f"{csvtext.field(domain)},{device[0]},{device[1]}"
        )
    return csvtext.write_table(folder, NAME, stamp, HEADER, [lines], len(lines))
