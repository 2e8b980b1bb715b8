"""Error codes: every public code with its meaning, and one table situation -> code.

Two tables exist for five situations: `article`, the codes practitioners' texts tell, and `header`, the codes the public
CANN headers give (NPU_ERROR_TABLE chooses; everything else always uses header codes).
"""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SUCCESS = 0


@dataclass(frozen=True, slots=True)
class Code:
    """A public error code. Several names can share a number; `name` is the one listed first."""

    code: int
    name: str
    group: str
    meaning: str
    source: str


@cache
def codes() -> tuple[Code, ...]:
    """Every row of data/error_codes.csv, in its order."""
    text = Path(__file__).with_name("data").joinpath("error_codes.csv").read_text(encoding="utf-8")
    return tuple(
        Code(int(r["code"]), r["name"], r["group"], r["meaning"], r["source"]) for r in csv.DictReader(text.splitlines())
    )


# situation -> (code as the articles tell it, code of the public headers)
DIFFERING: dict[str, tuple[int, int]] = {
    "no_driver": (507018, 107001),  # no usable driver or firmware when a device is opened
    "not_device_memory": (507018, 107000),  # copy to an address that should be device memory and lies in no live allocation
    "no_memory": (507011, 207001),  # device memory exhausted
    "memory_limit": (507011, 207001),  # the same for this process alone: ACL_RT_MEM_MAX_SIZE
    "model_input_mismatch": (507033, 145000),  # a model input that does not fit
    "model_too_new": (507033, 507011),  # a model built for a newer toolkit, at execute
}

# situation -> header code
SITUATIONS: dict[str, int] = {
    "invalid_param": 100000,
    "invalid_file": 100003,
    "parse_file": 100006,
    "not_initialized": 100001,
    "repeat_init": 100002,
    "repeat_finalize": 100037,
    "not_supported": 207000,
    "invalid_size": 107000,
    "invalid_device": 107001,
    "device_not_open": 107001,
    "no_context": 107002,
    "stream_context": 107003,
    "event_not_recorded": 107006,
    "event_reversed": 107007,
    "stream_subscribed": 107011,
    "thread_subscribed": 107012,
    "no_report_thread": 107015,
    "invalid_handle": 107017,
    "invalid_memory_type": 107016,
    "wait_timeout": 107019,
    "sys_param_unset": 107021,
    "peer_access": 107000,
    "ipc_key": 107000,
    "no_device": 207004,
    "free_failed": 207002,
    "wrong_side": 107000,
    "overrun": 107000,
    "bad_host_pointer": 107000,
    "host_memory": 207001,
    "no_event_resource": 207007,
    "no_stream_resource": 207008,
    "busy": 507033,
    "not_alive": 507010,
    "driver_failure": 507899,
    "stream_timeout": 507046,
    "event_timeout": 507047,
    "stream_deadlock": 507046,
    "event_deadlock": 507047,
    "report_timeout": 507012,
    "report_deadlock": 507012,
    "aicore_exception": 507015,
    "aicore_timeout": 507014,
    "aicpu_timeout": 507017,
    "aicpu_exception": 507018,
    "ipc": 507022,
    "host_registered": 507910,
    "host_not_registered": 507911,
    "ecc": 507054,
    "link_down": 507056,
    "freed_in_flight": 507013,  # the copy engine meets a page that is gone
    "freed_under_kernel": 507015,  # and so does a kernel
    "model_path": 145002,
    "model_id": 145003,
    "model_io": 145000,
    "model_data": 145006,
    "model_gear": 145013,
    "model_wrong_chip": 145006,
    "model_aipp": 145015,
    "bundle_id": 148053,
    "op_not_found": 100024,
    "op_input": 100021,
    "op_output": 100022,
    "repeat": 100002,
    "uninitialized": 100001,
    "jpeg_unsupported": 148052,
    "channel_alive": 148051,
    "unaligned": 200003,
    "api_not_supported": 200001,
    "prof_running": 100042,
    "prof_not_running": 100043,
    "prof_config": 100010,
    "prof_repeat": 148046,
    "prof_conflict": 148047,
    "dump_running": 100044,
    "dump_not_running": 100045,
    # HcclResult of what a call refuses; what ends a running collective shows on its stream (507048: the device's wait timed out)
    "hccl_param": 1,
    "hccl_argument": 1,
    "hccl_environment": 1,
    "hccl_same_device": 1,
    "hccl_ranktable": 1,
    "hccl_pointer": 2,
    "hccl_memory": 3,
    "hccl_internal": 4,
    "hccl_not_supported": 5,
    "hccl_ranktable_field": 6,
    "hccl_port": 7,
    "hccl_connect": 9,
    "hccl_ranktable_file": 10,
    "hccl_runtime": 15,
    "hccl_suspended": 22,
    "hccl_wait": 507048,
    "hccl_mismatch": 507048,
}


class NpuError(Exception):
    """A refusal of the simulated stack: the situation and its facts. The facade turns it into a code, a message, a log line."""

    def __init__(self, situation: str, **facts: object) -> None:
        super().__init__(situation, facts)
        self.situation, self.facts = situation, facts

    @property
    def code(self) -> int:
        return code_of(self.situation)


def code_of(situation: str, table: str | None = None) -> int:
    """The code for a situation by table ("article" or "header", default NPU_ERROR_TABLE or article). KeyError if unknown."""
    if situation in DIFFERING:
        article, header = DIFFERING[situation]
        chosen = table if table is not None else os.environ.get("NPU_ERROR_TABLE", "article")
        return header if chosen == "header" else article
    return SITUATIONS[situation]


def both(situation: str) -> tuple[int, int]:
    """(article code, header code) of a situation; equal where the two agree."""
    if situation in DIFFERING:
        return DIFFERING[situation]
    return SITUATIONS[situation], SITUATIONS[situation]
