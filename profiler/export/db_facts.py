"""Tables of facts: schema version, session, chip of each device, host, rank, the meaning of all enumerations."""

from __future__ import annotations

from profiler.export import chrome, info_json, words
from profiler.export.database import Database
from profiler.trace import Trace

VERSION = ("1", "0", "0")  # of the schema, as seen in real files


def write(database: Database, trace: Trace) -> None:
    """META_DATA, SESSION_TIME_INFO, NPU_INFO, HOST_INFO, RANK_DEVICE_MAP and the ENUM_ tables."""
    names = ("SCHEMA_VERSION_MAJOR", "SCHEMA_VERSION_MINOR", "SCHEMA_VERSION_MICRO")
    database.facts("META_DATA", [("SCHEMA_VERSION", ".".join(VERSION)), *zip(names, VERSION, strict=True)])
    zero = chrome.unix_zero(trace)
    database.facts("SESSION_TIME_INFO", [(zero + min(0, trace.span()[0]), zero + trace.span()[1])])
    chip = info_json.chip(trace)
    name = f"Ascend{chip.family}" if chip is not None else "UNKNOWN"
    database.facts("NPU_INFO", [(device, name) for device in trace.devices()])
    database.facts("HOST_INFO", [info_json.host_identity(trace)])
    ranks = trace.meta.get("ranks") or []
    if len(ranks) == 1:  # one rank is one process; which device each of several ranks had is not known here
        database.facts("RANK_DEVICE_MAP", [(int(ranks[0]), device) for device in trace.devices()])
    enums: dict[str, list[tuple[int, str]]] = {}
    for row in words.rows_of("db_enums.csv"):
        enums.setdefault(row["table"], []).append((int(row["id"]), row["name"]))
    for table, rows in enums.items():
        database.connection.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY,name TEXT)")
        database.connection.executemany(f"INSERT INTO {table} VALUES (?,?)", rows)
