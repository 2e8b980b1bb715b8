"""What a database says of itself: schema, environment, rank, chip, host -> trace.meta."""

from __future__ import annotations

import json
import re
from typing import Any

from profiler.read.database import Database


def meta(database: Database) -> dict[str, Any]:
    """What a database tells of the run: chip, versions, settings, ranks; what it does not hold is left out."""
    made: dict[str, Any] = {}
    facts = {}
    if {"name", "value"} <= set(database.columns_of("META_DATA")):
        facts = {str(k): v for k, v in zip(*database.raw("META_DATA", ("name", "value")), strict=True)}
    if "SCHEMA_VERSION" in facts:
        made["db_schema"] = str(facts["SCHEMA_VERSION"])
    try:
        environ = json.loads(str(facts.get("ENV_VARIABLES", "")))
    except ValueError:
        environ = None
    if isinstance(environ, dict):
        made["env"] = environ
    if {"rankId", "deviceId"} <= set(database.columns_of("RANK_DEVICE_MAP")):
        ranks, _ = database.raw("RANK_DEVICE_MAP", ("rankId", "deviceId"))
        known = sorted({r for r in ranks if isinstance(r, int) and r >= 0})
        if len(known) == 1:
            made["rank"] = known[0]
        made |= {"ranks": known} if known else {}
    if {"id", "name"} <= set(database.columns_of("NPU_INFO")):
        names = {str(n) for n in database.raw("NPU_INFO", ("id", "name"))[1]}
        if len(names) == 1 and re.fullmatch(r"Ascend\w+", next(iter(names))):
            made["npu_name"] = names.pop()
    if {"hostUid", "hostName"} <= set(database.columns_of("HOST_INFO")):
        uid, name = database.raw("HOST_INFO", ("hostUid", "hostName"))
        if uid:
            made["host"] = {"hostname": str(name[0]), "uid": str(uid[0])}
    if {"startTimeNs", "endTimeNs"} <= set(database.columns_of("SESSION_TIME_INFO")):
        begun, ended = database.raw("SESSION_TIME_INFO", ("startTimeNs", "endTimeNs"))
        spans = [e - b for b, e in zip(begun, ended, strict=True) if isinstance(b, int) and isinstance(e, int)]
        if spans:
            made["session_ns"] = spans[0]
    return made
