"""What lies in a model's feature map and for how long: in the plan, in the file, and in static_op_mem of a run."""

from pathlib import Path

import numpy as np
import pytest

from npu import om
from profiler.export import static_op_mem
from tests.made import Made
from tests.made_onnx import ORIGIN, convert, model, node

# x [8, 64] -> a (2,048 bytes) -> b [8, 100] (3,200 bytes, 3,584 in blocks of 512) -> c (2,048 bytes) -> y
NODES = [
    node("Softmax", "x", "a"),
    node("MatMul", "a w", "b"),
    node("MatMul", "b v", "c"),
    node("Softmax", "c", "y"),
]
WEIGHTS = {"w": np.ones((64, 100), np.float32), "v": np.ones((100, 64), np.float32)}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> om.Model:
    proto = model(NODES, "y", WEIGHTS, {"x": [8, 64]})
    return om.load(convert(proto, tmp_path_factory.mktemp("lifetimes"), **ORIGIN).path)


def test_results_lie_there_from_their_kernel_to_their_last_reader(made: om.Model) -> None:
    assert [(first, last, size) for _, first, last, size in made.lifetimes] == [(0, 1, 2048), (1, 2, 3584), (2, 3, 2048)]
    assert [name for name, *_ in made.lifetimes] == [k.name for k in made.kernels[:3]]  # the output lies outside
    assert made.memory["feature_map"] == 2048 + 3584  # c lies where a was
    assert om.from_metadata(om.to_metadata(made)) == made


def test_a_file_that_tells_them_wrongly_is_no_model(made: om.Model) -> None:
    meta = om.to_metadata(made)
    (key,) = (k for k in meta if k.endswith("plan"))
    for wrong in ('"lifetimes":[["a",0,1]]', '"lifetimes":5', '"lifetimes":[["a",0,1,"many"]]'):
        begin = meta[key].index('"lifetimes":')
        end = meta[key].index("]]", begin) + 2
        with pytest.raises(om.BadModel):
            om.from_metadata({**meta, key: meta[key][:begin] + wrong + meta[key][end:]})


def test_the_table_of_a_run(tmp_path: Path) -> None:
    rows = Made()
    rows.meta |= {"model_3": {"name": "net", "memory": {"feature_map": 5632}, "lifetimes": [["S", 0, 1, 2048], ["M", 1, 2, 3584]]}}
    rows.task("kernel", 0, 5, name="S", model=3)
    rows.task("kernel", 5, 9, name="other", model=4)  # of a model of which nothing is known
    rows.task("copy", 9, 10)
    (path,) = static_op_mem.write(rows.trace(), tmp_path, "20261130120000")
    assert path.read_text().splitlines() == [
        "Device_id,Op Name,Model Name,Graph ID,Node Index Start,Node Index End,Size(KB)",
        "0,S,net,3,0,1,2.0", "0,M,net,3,1,2,3.5", "0,TOTAL,net,3,0,2,5.5",
    ]  # fmt: skip
    assert static_op_mem.write(Made().trace(), tmp_path, "20261130120001") == []
