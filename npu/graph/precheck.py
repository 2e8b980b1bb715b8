"""--mode=3: which operators of a model the converter takes, as check_result.json in the real tool's form (keys in order)."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from npu.graph import custom
from npu.graph.checks import check_versions, kind_of, takes
from npu.graph.errors import AtcError
from npu.graph.onnx_file import read
from npu.graph.walk import nodes
from npu.graph.written_out import is_written_out

REPORT = "check_result.json"
UNSUPPORTED, REPEATED = 2, 4  # codes of the causes
TEXTS = {UNSUPPORTED: "The type is not supported.", REPEATED: "The name is repeated."}


def where(given: str) -> Path:
    """The file of --check_report; a plain name stands in $ASCEND_WORK_PATH where that is set."""
    return Path(os.environ.get("ASCEND_WORK_PATH", "")) / (given or REPORT)


def result(model: Path, newest: int) -> dict[str, Any]:
    """The content of the report. newest: the highest operator set that is taken. AtcError for a file that is no model."""
    proto = read(model)
    opset = check_versions(proto, model)
    custom.offer(proto)
    names = Counter(n.name for n in proto.graph.node if n.name)
    rows = []
    for node in nodes(proto.graph):
        codes = [] if takes(node, opset, newest) or is_written_out(node, opset) else [UNSUPPORTED]
        if names[node.name] > 1:
            codes.append(REPEATED)
        rows.append(_row(node.name, kind_of(node, proto, opset), codes))
    failed = sum(r["result"] == "failed" for r in rows)
    return {
        "fail": failed,
        "name": proto.graph.name,
        "op": rows,
        "pass": len(rows) - failed,
        "result": "failed" if failed else "success",
        "total": len(rows),
    }


def _row(name: str, kind: str, codes: list[int]) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "result": "failed" if codes else "success", "type": kind}
    return {"cause": [{"code": c, "message": TEXTS[c]} for c in codes], **row} if codes else row


def check(model: Path, report: Path, newest: int) -> None:
    """Write the report. AtcError E19010 or E19009 for the first operator that fails, the others behind it."""
    found = result(model, newest)
    save(report, found)
    failed = [r for r in found["op"] if r["result"] == "failed"]
    if not failed:
        return
    more = tuple(f"{r['name']} ({r['type']}): {' '.join(c['message'] for c in r['cause'])}" for r in failed[1:])
    more = (*more, f"The report on all operators is {report}.")
    first = failed[0]
    if first["cause"][0]["code"] == UNSUPPORTED:
        raise AtcError("E19010", opname=first["name"], optype=first["type"], more=more)
    raise AtcError("E19009", opname=first["name"], more=more)


def save(path: Path, content: object) -> None:
    """Write JSON as the real tool does. AtcError E13004."""
    try:
        path.write_text(json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise AtcError("E13004", file=path, errmsg=error.strerror) from error
