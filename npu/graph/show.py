"""What --mode=6 and --display_model_info=1 print of a model file. Reads metadata only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from npu import om
from npu.graph.errors import AtcError

TITLE = "============ Display Model Info {} ============"


def display(path: Path) -> Iterator[str]:
    """The lines of the block. AtcError E10041 when the file is no model of ours, E13001 when it cannot be opened."""
    try:
        model, size, plan = om.load(path), path.stat().st_size, om.read_metadata(path)[om.PREFIX + "plan"]
    except om.BadModel as error:
        raise AtcError("E10041", parameter=path, more=(error.reason,)) from error
    except OSError as error:
        raise AtcError("E13001", file=path, errmsg=error.strerror) from error
    memory = model.memory
    yield TITLE.format("start")
    yield f"Original Atc command line: {model.build.get('command', '')}"
    yield (
        f"system   info: atc_version[{model.build.get('cann', '')}], soc_version[{model.soc}], "
        f"framework_type[{model.build.get('framework', '')}]."
    )
    streams = len({k.stream for k in model.kernels}) or 1
    needed = memory.get("feature_map", 0) + memory.get("workspace", 0)
    yield (
        f"resource info: memory_size[{needed} B], weight_size[{memory.get('weights', 0)} B], "
        f"stream_num[{streams}], event_num[{len(model.events)}]."
    )
    # A file of ours holds graph and weights in one protobuf and no compiled kernels: the rest of the file is its definition.
    weights = int(model.build.get("weight_bytes", 0))
    yield (
        f"om       info: modeldef_size[{size - weights - len(plan)} B], weight_data_size[{weights} B], tbe_kernels_size[0 B], "
        f"cust_aicpu_kernel_store_size[0 B], task_info_size[{len(plan)} B], so_store_size[0 B]."
    )
    yield TITLE.format("end  ")
