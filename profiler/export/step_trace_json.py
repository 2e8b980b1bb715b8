"""step_trace_{stamp}.json: the executions of compiled models as a timeline, by device and model."""

from __future__ import annotations

from pathlib import Path

from npu.units import us3
from profiler.export import chrome, csvtext
from profiler.export.files import whole
from profiler.export.step_trace import executions
from profiler.trace import Trace

NAME = "step_trace_json"
LAYER = chrome.Layer("Step Trace", 5)


def write(trace: Trace, folder: Path, stamp: str) -> list[Path]:
    """The file; no file when no model ran. Times in the arguments are texts of unix us or us, as in step_trace.csv."""
    ran = executions(trace)
    if not ran:
        return []
    zero, na = chrome.unix_zero(trace), csvtext.NA
    events = []
    for device in sorted({e.device for e in ran}):
        models = sorted({e.model for e in ran if e.device == device})
        events += chrome.metadata(chrome.process_id(trace, LAYER, device), LAYER, device, [(m, f"Model {m}") for m in models])
    for e in ran:
        begin, end, lasted = us3(e.begin + zero), us3(e.end + zero), us3(e.end - e.begin)
        args = {
            "Iteration ID": e.number, "FP Start": begin, "BP End": na, "Iteration End": end, "Iteration Time(us)": lasted,
            "FP_BP Time(us)": na, "Iteration Refresh(us)": na, "Data_aug Bound(us)": na if e.bound is None else us3(e.bound),
        }  # fmt: skip
        told = ",".join(f"{chrome.text(k)}:{chrome.text(v) if isinstance(v, str) else v}" for k, v in args.items())
        events.append(
            f'{{"name":"Iteration {e.number}","pid":{chrome.process_id(trace, LAYER, e.device)},"tid":{e.model},"ts":"{begin}",'
            f'"dur":{lasted},"args":{{{told}}},"ph":"X"}}'
        )
    path = folder / f"step_trace_{stamp}.json"
    with whole(path) as out:
        out.write("[" + ",\n".join(events) + "]")
    return [path]
