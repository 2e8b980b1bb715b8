"""What a session is told and tells: options, inputs and outputs, times."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import acl

from npu.shim.aclruntime.kinds import NAMES, dtype

CHOICE, AIPP = "ascend_mbatch_shape_data", "ascend_dynamic_aipp_data"  # inputs that sessions fill themselves


class session_options:
    """loop: how often a run repeats the model; log_level: 0 debug .. 3 error."""

    def __init__(self) -> None:
        self.loop, self.log_level, self.acl_json_path = 1, 1, ""


class infer_options:
    """Of a run over files. out_format: BIN, NPY or TXT; auto_dym_shape, auto_dym_dims: shapes follow from the files' arrays."""

    def __init__(self) -> None:
        self.output_dir, self.out_format = "", "BIN"
        self.auto_dym_shape = self.auto_dym_dims = self.pure_infer_mode = False
        self.output_names: list[str] = []
        self.shapes_list: list[Any] = []


class tensor_desc:
    """An input or output: size in elements, realsize in bytes."""

    def __init__(
        self, name: str = "", datatype: int = 0, format: int = 0, shape: Sequence[int] = (), realsize: int = 0
    ) -> None:  # fmt: skip
        self.name, self.format, self.shape = name, format, list(shape)
        named = datatype in dtype.__members__.values()
        self.datatype: int = dtype(datatype) if named else datatype
        self.size, self.realsize = prod(shape), realsize

    def __str__(self) -> str:
        dims, name = ", ".join(map(str, self.shape)), NAMES[self.datatype]
        return f"{self.name}    ({dims})    {name}    {self.size}    {self.realsize}"


class sumary:
    """exec_time_list: ms of each run of the model."""

    def __init__(self) -> None:
        self.exec_time_list: list[float] = []


def described(desc: int, which: str) -> list[tensor_desc]:
    """The inputs or outputs ("input", "output") of a model by its description, those a session fills itself among them."""
    made, mdl = [], acl.mdl
    for number in range(getattr(mdl, f"get_num_{which}s")(desc)):
        dims, _ = getattr(mdl, f"get_{which}_dims")(desc, number)
        kind, form = (getattr(mdl, f"get_{which}_{fact}")(desc, number) for fact in ("data_type", "format"))
        size = getattr(mdl, f"get_{which}_size_by_index")(desc, number)
        made.append(tensor_desc(dims["name"], kind, form, dims["dims"], size))
    return made
