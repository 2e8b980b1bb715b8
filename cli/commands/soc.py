"""`npuscope soc`: the chips of the model, and what is known of one."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from cli.common import CliError, near
from cli.options import Json, Lang
from cli.terminal import Language, language, paint

# column of the chip table -> (unit, what it is in English, in Chinese)
PARAMETERS = {
    "series": ("", "series", "系列"),
    "npu_arch": ("", "architecture", "架构"),
    "core_layout": ("", "cores", "核布局"),
    "aic_cnt": ("", "cube cores", "Cube 核数"),
    "aiv_cnt": ("", "vector cores", "Vector 核数"),
    "aicpu_cnt": ("", "AI CPU cores", "AI CPU 核数"),
    "cube_freq_mhz": ("MHz", "clock", "主频"),
    "peak_fp16_tflops": ("TFLOPS", "peak fp16", "fp16 峰值"),
    "peak_int8_tops": ("TOPS", "peak int8", "int8 峰值"),
    "vec_bytes_per_cycle": ("B", "vector width", "向量宽度"),
    "l0a_bytes": ("B", "L0A", "L0A"),
    "l0b_bytes": ("B", "L0B", "L0B"),
    "l0c_bytes": ("B", "L0C", "L0C"),
    "l1_bytes": ("B", "L1", "L1"),
    "ub_bytes": ("B", "unified buffer", "统一缓冲区"),
    "l2_bytes": ("B", "L2", "L2"),
    "mem_bytes": ("B", "device memory", "设备内存"),
    "mem_kind": ("", "memory kind", "内存类型"),
    "mem_bw_gbps": ("GB/s", "memory bandwidth", "内存带宽"),
    "ddr_rate": ("B/cycle", "memory rate of a core", "单核访存速率"),
    "l2_rate": ("B/cycle", "L2 rate of a core", "单核 L2 速率"),
    "dies": ("", "dies of a package", "每封装 die 数"),
    "die_link_gbps": ("GB/s", "between the dies", "die 间带宽"),
    "idle_power_w": ("W", "idle power", "空闲功耗"),
    "idle_temp_c": ("C", "idle temperature", "空闲温度"),
    "tdp_w": ("W", "rated power", "额定功耗"),
}
WORDS = {
    Language.en: {"chip": "chip", "known": "what is known", "unverified": "unverified", "unknown": "not known",
                  "source": "source", "status": "status", "cores": "cube/vector"},
    Language.zh: {"chip": "芯片", "known": "可信程度", "unverified": "未核实", "unknown": "未知", "source": "来源",
                  "status": "状态", "cores": "Cube/Vector"},
}  # fmt: skip
DOUBT = re.compile(r"\s*\((?:unverified|derived|by analogy)[^)]*\)|\?$")


def soc(
    name: Annotated[str, typer.Argument(help="A chip, as Ascend910B3 or 910B3, or a file that describes one. None: all.")] = "",
    json: Json = False,
    lang: Lang = None,
) -> int:
    """Show the chips that can be simulated, or one chip's parameters with their sources and what is unverified."""
    import json as codec

    from npu import soc as chips

    tongue = language(lang)
    if not name:
        rows = [_summary(r) for r in chips.cells().values()]
        print(codec.dumps({"schema": 1, "chips": rows}, ensure_ascii=False, indent=1) if json else _table(rows, tongue))
        return 0
    try:
        cells = chips.described(name)
    except KeyError:
        close = near(name.removeprefix("Ascend"), [n.removeprefix("Ascend") for n in chips.cells()])
        hint = f"did you mean {close}? " if close else ""
        raise CliError(f"{name} is no known chip", f"{hint}npuscope soc lists them") from None
    except ValueError as error:
        raise CliError(str(error), "correct the file; its keys are the columns npuscope soc NAME --json shows") from error
    facts = [_fact(cells, column) for column in PARAMETERS]
    if json:
        told = {"schema": 1, "chip": cells["soc"], "status": cells["status"], "source": cells["source"], "parameters": facts}
        print(codec.dumps(told, ensure_ascii=False, indent=1))
    else:
        print("\n".join(_lines(cells, facts, tongue)))
    return 0


def _fact(cells: dict[str, str], column: str) -> dict[str, Any]:
    """One parameter: value as written without its doubts, null where nothing is known."""
    written = cells.get(column, "")
    bare = DOUBT.sub("", written).strip()
    return {"name": column, "value": bare or None, "unit": PARAMETERS[column][0], "unverified": bool(DOUBT.search(written))}


def _summary(cells: dict[str, str]) -> dict[str, Any]:
    columns = ("aic_cnt", "aiv_cnt", "cube_freq_mhz", "peak_fp16_tflops", "mem_bytes", "mem_bw_gbps")
    return {"chip": cells["soc"], "series": cells["series"], "status": cells["status"], **{c: _fact(cells, c) for c in columns}}


def _gib(value: str | None) -> str:
    return f"{int(value) / 2**30:.0f} GiB" if value and value.isdigit() else "-"


def _mark(fact: dict[str, Any]) -> str:
    return f"{fact['value'] or '-'}{'*' if fact['unverified'] else ''}"


def _table(rows: list[dict[str, Any]], tongue: Language) -> str:
    words = WORDS[tongue]
    lines = [f"{words['chip']:<16}{words['cores']:>12}{'MHz':>8}{'TFLOPS':>9}{'memory':>9}{'GB/s':>12}  {words['known']}"]
    for r in rows:
        cores = f"{_mark(r['aic_cnt'])}/{_mark(r['aiv_cnt'])}"
        speed = str(r["mem_bw_gbps"]["value"] or "-").split()[0] + ("*" if r["mem_bw_gbps"]["unverified"] else "")
        lines.append(
            f"{r['chip']:<16}{cores:>12}{_mark(r['cube_freq_mhz']):>8}{_mark(r['peak_fp16_tflops']):>9}"
            f"{_gib(r['mem_bytes']['value']):>9}{speed:>12}  {r['status']}"
        )
    return "\n".join([*lines, f"* {words['unverified']}"])


def _lines(cells: dict[str, str], facts: list[dict[str, Any]], tongue: Language) -> list[str]:
    words = WORDS[tongue]
    lines = [paint(cells["soc"], "bold"), f"{words['status']}: {cells['status']}", f"{words['source']}: {cells['source']}"]
    for fact in facts:
        unit, english, chinese = PARAMETERS[fact["name"]]
        label = english if tongue is Language.en else chinese
        value = f"{fact['value']} {unit}".strip() if fact["value"] else words["unknown"]
        lines.append(f"  {label}: {value}" + (f"  ({words['unverified']})" if fact["unverified"] else ""))
    return lines
