"""ATC's options: the table options.csv, and the checked values of one conversion.

An option is `used` here, `kept` (its meaning holds in the simulator for the listed values, although nothing is done for it)
or `refused` by name. Nothing is ignored in silence.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path

from npu import soc
from npu.graph import gears
from npu.graph.checks import NEWEST_OPSET
from npu.graph.errors import AtcError
from npu.graph.input_shape import from_ranges, parse_ranges, parse_shapes
from npu.graph.precision_modes import modes

FRAMEWORKS = "0(Caffe) or 1(MindSpore) or 3(TensorFlow) or 5(Onnx)"


@dataclass(frozen=True, slots=True)
class Known:
    name: str
    kind: str  # used | kept | refused
    values: tuple[str, ...]  # empty: any
    default: str
    note: str


@dataclass(frozen=True, slots=True)
class Options:
    """One conversion. shapes: input name -> dims. switches: path of the fusion switch file or None."""

    model: Path
    output: Path
    soc: str
    shapes: Mapping[str, tuple[int, ...]]
    input_format: str = "NCHW"
    precision: str = "force_fp16"
    mixlist: Path | None = None  # --modify_mixlist
    keep: Path | None = None  # --keep_dtype
    switches: Path | None = None
    aipp: Path | None = None  # --insert_op_conf
    out_nodes: tuple[str, ...] = ()
    output_type: str = ""
    fp16_nodes: tuple[str, ...] = ()  # --input_fp16_nodes
    reuse_memory: bool = True
    statistics: bool = True
    command: str = ""
    gears: tuple[Mapping[str, tuple[int, ...]], ...] = ()
    ranges: Mapping[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    gear_option: str = ""  # the option that gave the gears
    single_stream: bool = False
    report: bool = False  # measure the model without fusion too
    newest_opset: int = NEWEST_OPSET  # the highest operator set of a model that is taken
    bank: Path | None = None  # --op_bank_path; None: where aoe leaves tuned schedules
    own_schedules: bool = True  # False: operators of one's own are scheduled anew, whatever they say

    @property
    def open(self) -> bool:
        """True when an input keeps an open dim: the model has gears, or it is launched kernel by kernel."""
        return any(-1 in dims for dims in self.shapes.values())


@cache
def known() -> dict[str, Known]:
    """Every option of the real tool that is known, by name."""
    rows = csv.DictReader(resources.files("npu.graph").joinpath("options.csv").read_text(encoding="utf-8").splitlines())
    return {
        r["option"]: Known(r["option"], r["kind"], tuple(v for v in r["values"].split("|") if v), r["default"], r["note"])
        for r in rows
    }


def check(flags: Mapping[str, str]) -> dict[str, str]:
    """The flags with defaults filled in. AtcError for an unknown or refused option, an empty or unlisted value."""
    for name, value in flags.items():
        option = known().get(name)
        if option is None:
            raise AtcError("E10001", value=value, parameter=f"--{name}", reason="ATC has no option of that name.")
        if option.kind == "refused":
            raise AtcError(
                "E10001",
                value=value,
                parameter=f"--{name}",
                reason=f"the simulated ATC does not offer this option{': ' + option.note if option.note else ''}.",
            )
        if value == "":
            raise AtcError("E10004", parameter=name)
        if option.values and value not in option.values:
            raise _wrong_value(option, value)
    return {o.name: flags.get(o.name, o.default) for o in known().values() if o.kind != "refused"}


def _wrong_value(option: Known, value: str) -> AtcError:
    if option.name == "framework":
        if value in ("0", "1", "3"):
            return AtcError(
                "E10001", value=value, parameter="--framework", reason="the simulated ATC reads ONNX models (5) only."
            )
        return AtcError("E10007", parameter="framework", support=FRAMEWORKS)
    if option.name == "log":
        return AtcError("E10010", loglevel=value)
    if option.values == ("0", "1"):
        return AtcError("E10006", value=value, parameter=option.name)
    if option.values == ("true", "false"):
        return AtcError("E10005", value=value, parameter=option.name)
    return AtcError(
        "E10001", value=value, parameter=f"--{option.name}", reason=f"the value must be one of {', '.join(option.values)}."
    )


def conversion(flags: Mapping[str, str], command: str) -> Options:
    """The options of --mode=0 from flags as typed (name without dashes -> value). AtcError names what is wrong or missing."""
    values = check(flags)
    if "framework" not in flags:
        raise AtcError("E10007", parameter="framework", support=FRAMEWORKS)
    for required in ("model", "output", "soc_version"):
        if not values[required]:
            raise AtcError("E10054", parameter=f"--{required}")
    if "precision_mode" in flags and "precision_mode_v2" in flags:
        raise AtcError("E10056", parameter1="--precision_mode", parameter2="--precision_mode_v2")
    output = values["output"]
    if output.endswith("/"):
        raise AtcError("E10022", filename=output, parameter="output")
    given = "precision_mode_v2" if "precision_mode_v2" in flags else "precision_mode"
    precision = modes(given)[values[given]]
    if values["modify_mixlist"] and precision.rule != "lists":
        raise AtcError("E10055", reason=f"--modify_mixlist is for the mixed modes, and --{given} is {values[given]}")
    if values["input_shape_range"] and values["input_shape"]:
        raise AtcError("E10056", parameter1="--input_shape", parameter2="--input_shape_range")
    option, shape_text = gears.chosen(flags), values["input_shape"] or from_ranges(values["input_shape_range"])
    shapes = parse_shapes(shape_text)
    if values["insert_op_conf"] and values["input_format"] != "NCHW":
        raise AtcError("E10001", value=values["input_format"], parameter="--input_format", reason="AIPP needs NCHW.")
    if values["insert_op_conf"] and option == gears.DIMS:
        raise AtcError("E10056", parameter1="--insert_op_conf", parameter2="--dynamic_dims")
    return Options(
        model=Path(values["model"]),
        output=Path(output + ".om"),
        soc=chip(values["soc_version"]),
        shapes=shapes,
        input_format=values["input_format"],
        precision=precision.name,
        mixlist=Path(values["modify_mixlist"]) if values["modify_mixlist"] else None,
        keep=Path(values["keep_dtype"]) if values["keep_dtype"] else None,
        switches=Path(values["fusion_switch_file"]) if values["fusion_switch_file"] else None,
        aipp=Path(values["insert_op_conf"]) if values["insert_op_conf"] else None,
        out_nodes=tuple(n for n in values["out_nodes"].split(";") if n),
        output_type=values["output_type"],
        fp16_nodes=tuple(n for n in values["input_fp16_nodes"].split(";") if n),
        reuse_memory=values["disable_reuse_memory"] == "0",
        statistics=values["export_compile_stat"] != "0",
        command=command,
        gears=tuple(gears.gears(option, values[option], shapes, values["input_format"])) if option else (),
        ranges=parse_ranges(shape_text),
        gear_option=option,
        single_stream=values["enable_single_stream"] == "true",
        report=values["report"] == "1",
        newest_opset=_opset(values["newest_opset"]),
        bank=Path(values["op_bank_path"]) if values["op_bank_path"] else None,
    )


def prechecked(flags: Mapping[str, str]) -> tuple[Path, int]:
    """Of --mode=3: the model, and the highest operator set that is taken. AtcError as for --mode=0."""
    values = check(flags)
    if "framework" not in flags:
        raise AtcError("E10007", parameter="framework", support=FRAMEWORKS)
    if not values["model"]:
        raise AtcError("E10054", parameter="--model")
    return Path(values["model"]), _opset(values["newest_opset"])


def _opset(text: str) -> int:
    if not text.isdecimal():
        raise AtcError("E10001", value=text, parameter="--newest_opset", reason="the value must be a whole number.")
    return int(text)


def chip(name: str) -> str:
    """The full name of a chip. AtcError E10001 with every allowed name for one that is not in the table."""
    try:
        return soc.find(name).name
    except KeyError:
        allowed = ", ".join(soc.table())
        raise AtcError("E10001", value=name, parameter="--soc_version", reason=f"the value must be one of {allowed}.") from None
