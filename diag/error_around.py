"""Codes that stand around CANN's own: of the driver, of the device's fault events, of the graph engine, of the operating system
(errno, signals, exit codes), the error bits of a core, whole families (E1xxxx), and the words torch_npu writes for its ERR codes.
"""

from __future__ import annotations

import re

from diag import code_tables
from diag.error_entry import Entry, advice, of_other
from diag.log_facts import core_bits

DRIVER = re.compile(r"(?i)drv\w*\W*(?:(?:error|err|ret|return|code)\w*\W*)*(?P<code>\d{1,5})")
DRIVER_NAME = re.compile(r"(?i)DRV_ERROR_(?P<name>\w+)")
FAULT = re.compile(r"(?i)(?:(?:error|fault|event)?[ _]?(?:code|id)\W*)?(?:0x)?(?P<code>[0-9a-f]{8})")
ERRNO = re.compile(r"(?i)errno\W*(?P<code>\d{1,3})")
SIGNAL = re.compile(r"(?i).*\bsignal\W*(?P<code>\d{1,2})\b\W*")
EXIT = re.compile(r"(?i)(?:.*\bexit(?:ed)?[ _]?(?:with )?(?:code|status)?\W*?)?(?P<code>-\d{1,2}|1[2-4]\d)\W*")
CORE = re.compile(r"(?i)(?P<before>.*?)\berror ?code ?[=:]? ?\(?(?P<code>0x[0-9a-f]{1,16})\b.*")
OF_A_CORE = re.compile(r"(?i)ai ?c(?:ore|ube)?\b|ai ?v(?:ec|ector)?|vector|core id|fftsplus")
GROUP = re.compile(r"(?i)(?P<family>[EW][0-9A-Z])(?:x{2,4}|X{2,4})?")
TORCH = re.compile(r"(?i)(?P<part>PTA|OPS|DIST|GRAPH|PROF) (?P<what>call (?:acl|hccl|ge) api failed|[a-z ]+?)\.?")
CALLS = {
    "call acl api failed": "an acl call failed",
    "call hccl api failed": "an HCCL call failed",
    "call ge api failed": "a GE call failed",
}


def by_driver(asked: str) -> Entry | None:
    """drvRetCode=17, drv_ret 87, DRV_ERROR_NO_DEVICE: what the driver's own library returned."""
    match, named = DRIVER.fullmatch(asked), DRIVER_NAME.fullmatch(asked)
    if named is not None:
        wanted = named["name"].lower().replace("_", " ")
        entry = next((e for e in code_tables.others().values() if e.form == "drv" and e.name == wanted), None)
    else:
        entry = code_tables.other("drv", match["code"]) if match is not None else None
    return None if entry is None else of_other(entry)


def by_fault(asked: str) -> Entry | None:
    """0x80E01801, 80E01801: event codes of npu-smi's health query and of cluster tools."""
    match = FAULT.fullmatch(asked)
    entry = code_tables.other("fault", "0x" + match["code"]) if match is not None else None
    return None if entry is None else of_other(entry)


def by_graph_engine(asked: str) -> Entry | None:
    """1343225860, ErrorNo: 4294967295(failed)."""
    match = re.fullmatch(r"(?i)(?:error ?no\W*)?(?P<code>\d{10})(?:\(.*)?", asked)
    entry = code_tables.other("ge", match["code"]) if match is not None else None
    return None if entry is None else of_other(entry)


def by_system(asked: str) -> Entry | None:
    """errno 98, signal 9, exit code 137, -11: an exit code above 128 or below 0 names the signal that ended the process."""
    errno, signal, ended = ERRNO.fullmatch(asked), SIGNAL.fullmatch(asked), EXIT.fullmatch(asked)
    if errno is not None:
        entry = code_tables.other("errno", errno["code"])
    elif signal is not None:
        entry = code_tables.other("signal", signal["code"])
    elif ended is not None:
        number = int(ended["code"])
        entry = code_tables.other("signal", str(-number if number < 0 else number - 128))
    else:
        return None
    return None if entry is None else of_other(entry)


def by_core_bits(asked: str) -> Entry | None:
    """error code = 0x800000 of an exception on a core: its bits. Short numbers need a word that speaks of a core."""
    match = CORE.fullmatch(asked)
    if match is None or (len(match["code"]) < 8 and not OF_A_CORE.search(asked)):
        return None
    vector = re.search(r"(?i)ai ?v(?:ec|ector)?|vector", asked) is not None
    _, told = core_bits("", {"error_code": match["code"]})
    if "bits" not in told:
        return None
    do, commands = advice("vector_core_exception" if vector else "aicore_exception")
    name = {"en": "error code of a core", "zh": "核的错误码"}
    return Entry("core", match["code"], name, "", {"en": told["bits"], "zh": told["bits_zh"]}, {}, do, commands, "")


def by_group(asked: str) -> Entry | None:
    """E1xxxx, EI, EZ: whose codes these are."""
    match = GROUP.fullmatch(asked)
    if match is None:
        return None
    family = match["family"].upper()
    entry = next((e for e in code_tables.families().values() if e.is_group and f"{family}xxxx" in e.code), None)
    if entry is None:
        return None
    meaning = {
        "en": f"codes {family}xxxx come from this component; the four digits behind say which fault it is",
        "zh": f"{family}xxxx 由该组件报告；后四位说明是哪种故障",
    }
    do, commands = advice("internal_failure")
    return Entry("family", f"{family}xxxx", entry.component, "", meaning, {}, do, commands, entry.source)


def by_torch_words(asked: str) -> Entry | None:
    """PTA call acl api failed, OPS internal error: what torch_npu writes behind ERR00100 and its like."""
    match = TORCH.fullmatch(asked)
    if match is None:
        return None
    what = match["what"].lower()
    wanted = f"{match['part'].upper()}: {CALLS.get(what, what)}"
    entry = next((e for e in code_tables.families().values() if e.code.startswith("ERR") and e.meaning["en"] == wanted), None)
    if entry is None:
        return None
    do = {language: (text,) for language, text in entry.action.items() if text}
    return Entry("torch", entry.code, entry.component, "", entry.meaning, {}, do, (), entry.source)
