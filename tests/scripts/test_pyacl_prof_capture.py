"""acl.prof in a script: a real PROF folder in the folder it names, with what was asked for between start and stop, and nothing else."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import profiler
from profiler.trace import Trace
from tests import made_onnx
from tests.scripts.conftest import Ran, Run
from tests.scripts.model_script import SETS

pytestmark = pytest.mark.slow  # many starts of programs

HEAD = """
import acl, os, mstx
os.makedirs("mine", exist_ok=True)
API, TASK, METRICS, AICPU, TX, L0, MEMORY = 0x1, 0x2, 0x4, 0x8, 0x80, 0x800, 0x1000
acl.init(); acl.rt.set_device(0)
size = 1 << 20
stream, _ = acl.rt.create_stream()
device, _ = acl.rt.malloc(size, 0); host, _ = acl.rt.malloc_host(size)
def copies(n):
    for _ in range(n): acl.rt.memcpy_async(device, size, host, size, 1, stream)
    acl.rt.synchronize_stream(stream)
def ok(*codes):
    assert not any(codes), (codes, acl.get_recent_err_msg())
"""
TWICE = HEAD + """
copies(2)
ok(acl.prof.init("mine"))
config = acl.prof.create_config([0], 1, 0, API | TASK | METRICS | AICPU)
copies(3)
ok(acl.prof.start(config)); copies(4); ok(acl.prof.stop(config))
copies(5)
ok(acl.prof.start(config)); copies(1); ok(acl.prof.stop(config))
ok(acl.prof.destroy_config(config), acl.prof.finalize())
copies(6)
"""


def run(start: Run, script: str, recorded: bool = False) -> Ran:
    words = ("msprof", "run", "--no-summary", "--clock", "model", "--output", "main") if recorded else ("python", "-m", "npu")
    ran = start(*words, "script.py", script=script, env={"NPU_CLOCK": "model", "NPU_COMPUTE": "off"})
    assert ran.code == 0, ran.err
    return ran


def mine(ran: Ran) -> list[Trace]:
    return [profiler.open(p) for p in sorted(ran.folder.glob("mine/PROF_*"))]


@pytest.mark.parametrize("recorded", [False, True])
def test_rows_lie_between_start_and_stop_with_and_without_the_launcher(start: Run, recorded: bool) -> None:
    ran = run(start, TWICE, recorded)
    (trace,) = mine(ran)
    names = [trace.strings[int(n)] for n in trace.api["name"]]
    assert names == ["aclrtMemcpyAsync"] * 4 + ["aclrtSynchronizeStream"] + ["aclrtMemcpyAsync", "aclrtSynchronizeStream"]
    assert len(trace.task) == 5 and set(trace.task["correlation"]) == set(trace.api["correlation"]) - {-1}
    assert (trace.meta["pid"], trace.meta["soc"], trace.meta["devices"]) == (trace.meta["pid"], "Ascend910B3", [0])
    assert [m.what for m in trace.missing] == ["aicpu"] and not trace.memory and not trace.marker
    if recorded:  # the launcher's capture is the whole run all the same
        (whole,) = (profiler.open(p) for p in ran.folder.glob("main/PROF_*"))
        assert int(whole.api_named("aclrtMemcpyAsync").sum()) == len(whole.task) == 21
        assert [whole.strings[int(n)] for n in whole.api["name"]].count("aclprofStart") == 2


def test_nothing_is_there_before_start_and_the_real_export_finds_the_folder(start: Run) -> None:
    ran = run(start, HEAD + """
ok(acl.prof.init("mine"))
copies(3)
(folder,) = os.listdir("mine")
print(sorted(n for n in os.listdir(f"mine/{folder}/npuscope") if n.endswith(".seg")))
config = acl.prof.create_config([0], 1, 0, API | TASK)
ok(acl.prof.start(config)); copies(2); ok(acl.prof.finalize())
""")
    assert ran.out == "[]\n"
    exported = start("msprof", "--export=on", "--output=mine")
    assert exported.code == 0
    kinds = {p.name.rpartition("_")[0] for p in ran.folder.glob("mine/PROF_*/mindstudio_profiler_output/*_*.*")}
    assert kinds == {"msprof", "api_statistic", "task_time"}


def test_a_folder_that_was_thrown_away_after_stop_is_made_anew(start: Run) -> None:
    """Programs that measure operator by operator read a folder, empty the parent and start again."""
    ran = run(start, HEAD + """
import shutil
ok(acl.prof.init("mine"))
config = acl.prof.create_config([0], 1, 0, API | TASK)
for turn in range(1, 3):
    ok(acl.prof.start(config)); copies(turn); ok(acl.prof.stop(config))
    print(len(os.listdir("mine")))
    if turn == 1: shutil.rmtree("mine"); os.mkdir("mine")
ok(acl.prof.finalize())
""")
    assert ran.out == "1\n1\n"
    (trace,) = mine(ran)
    assert [trace.strings[int(n)] for n in trace.api["name"]] == ["aclrtMemcpyAsync"] * 2 + ["aclrtSynchronizeStream"]
    assert len(trace.task) == 2 and trace.meta["soc"] == "Ascend910B3"


def test_only_the_devices_asked_for(start: Run) -> None:
    ran = run(start, HEAD + """
acl.rt.set_device(1)
other, _ = acl.rt.create_stream()
there, _ = acl.rt.malloc(size, 0)
ok(acl.prof.init("mine"))
config = acl.prof.create_config([1], 1, 0, API | TASK | MEMORY)
ok(acl.prof.start(config))
for n in range(3): acl.rt.memcpy_async(there, size, host, size, 1, other)
acl.rt.synchronize_stream(other)
acl.rt.set_device(0)
copies(5)
ok(acl.prof.stop(config), acl.prof.finalize())
""")
    (trace,) = mine(ran)
    assert trace.task["device"].tolist() == [1, 1, 1]
    assert set(trace.api["device"].tolist()) <= {1, -1} and int(trace.api_named("aclrtMemcpyAsync").sum()) == 3


@pytest.mark.parametrize(("mask", "has"), [
    ("API", {"api"}), ("TASK", {"task"}), ("API | MEMORY", {"api", "memory"}), ("TX", {"marker"}),
    ("API | TASK | TX | MEMORY", {"api", "task", "marker", "memory"}),
])  # fmt: skip
def test_only_the_kinds_of_data_asked_for(start: Run, mask: str, has: set[str]) -> None:
    ran = run(start, HEAD + f"""
ok(acl.prof.init("mine"))
config = acl.prof.create_config([0], 1, 0, {mask})
ok(acl.prof.start(config))
copies(1)
mstx.mark("here")
acl.rt.free(acl.rt.malloc(size, 0)[0])
ok(acl.prof.stop(config), acl.prof.finalize())
""")
    (trace,) = mine(ran)
    assert {t for t in ("api", "task", "memory", "marker") if getattr(trace, t)} == has


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A converted model of two matrix products."""
    nodes = [made_onnx.node("MatMul", "x v", "h"), made_onnx.node("MatMul", "h w", "y")]
    weights = {n: np.ones((8, 8), np.float32) for n in "vw"}
    return made_onnx.convert(made_onnx.model(nodes, "y", weights, {"x": [4, 8]}), tmp_path, **made_onnx.ORIGIN).path


RUNS = HEAD + SETS + """
def load(path):
    model, ret = acl.mdl.load_from_file(path); ok(ret)
    return model, *sets_of(model)
"""


@pytest.mark.parametrize("early", [False, True])
def test_kernels_have_names_and_counters_also_of_a_model_loaded_before(start: Run, model: Path, early: bool) -> None:
    load = f"m = load({str(model)!r}); ok(acl.mdl.execute(*m))\n"
    ran = run(start, RUNS + (load if early else "") + 'ok(acl.prof.init("mine"))\n' + ("" if early else load) + """
config = acl.prof.create_config([0], 1, 0, TASK | METRICS)
ok(acl.prof.start(config), acl.mdl.execute(*m), acl.prof.stop(config), acl.prof.finalize())
ok(acl.prof.init("mine"))  # numbers of texts and kernels hold in the next folder as well
ok(acl.prof.start(config), acl.mdl.execute(*m), acl.prof.stop(config), acl.prof.finalize())
""")
    for trace in mine(ran):
        assert [trace.strings[int(n)] for n in trace.task["op_type"]] == ["MatMulV2"] * 2
        assert (trace.task["aic_total_cycles"] > 0).all() and len({trace.strings[int(n)] for n in trace.task["name"]}) == 2
    assert len(mine(ran)) == 2


def test_level_zero_has_times_and_names_alone_and_metrics_are_those_asked_for(start: Run, model: Path) -> None:
    ran = run(start, RUNS + f"""
ok(acl.prof.init("mine"))
m = load({str(model)!r})
for metrics, mask in ((1, L0), (8, TASK | METRICS), (1, TASK)):
    config = acl.prof.create_config([0], metrics, 0, mask)
    ok(acl.prof.start(config), acl.mdl.execute(*m), acl.prof.stop(config), acl.prof.finalize(), acl.prof.init("mine"))
""")
    start("msprof", "--export=on", "--output=mine")
    headers = []
    for prof in sorted(ran.folder.glob("mine/PROF_*"))[:3]:
        (table,) = prof.glob("mindstudio_profiler_output/op_summary_*.csv")
        with table.open(newline="") as file:
            headers.append(list(csv.DictReader(file)))
    short, access, plain = headers
    assert {r["OP Type"] for r in short} == {r["Input Shapes"] for r in short} == {"N/A"} and {r["Block Dim"] for r in short} == {"0"}
    assert {r["Task Type"] for r in short} == {"N/A"} and "aic_mac_ratio" not in short[0]
    assert "aic_read_main_memory_datas(KB)" in access[0] or "read_main_memory_datas(KB)" in access[0]
    assert plain[0]["OP Type"] == "MatMulV2" and not any(name.endswith("_ratio") for name in plain[0])


def test_steps_are_recorded_and_a_folder_that_cannot_be_written_is_refused(start: Run) -> None:
    ran = run(start, HEAD + """
ok(acl.prof.init("mine"))
config = acl.prof.create_config([0], 1, 0, TASK)
step = acl.prof.create_step_info()
ok(acl.prof.start(config))
for _ in range(2):
    ok(acl.prof.get_step_timestamp(step, 0, stream)); copies(2); ok(acl.prof.get_step_timestamp(step, 1, stream))
acl.rt.synchronize_stream(stream)
ok(acl.prof.stop(config), acl.prof.finalize())
print(acl.prof.init("/proc"), acl.prof.init("missing"), acl.prof.finalize())
copies(1)
""")
    assert ran.out == "100000 100000 100043\n"
    (trace,) = mine(ran)
    assert [trace.strings[int(n)] for n in trace.marker["name"]] == ["step 1", "step 2"]
    meta = json.loads(next(ran.folder.glob("mine/PROF_*/npuscope/meta.json")).read_text())
    assert meta["ended_unix"]


def test_a_script_that_forgets_to_stop_leaves_a_whole_folder(start: Run) -> None:
    ran = run(start, HEAD + """
ok(acl.prof.init("mine"))
config = acl.prof.create_config([0], 1, 0, API | TASK)
ok(acl.prof.start(config))
copies(2)
""")
    (trace,) = mine(ran)
    assert len(trace.task) == 2 and trace.missing == []


def test_the_example_of_the_page_does_what_it_says(start: Run) -> None:
    page = (Path(__file__).parents[2] / "docs" / "msprof-run.md").read_text(encoding="utf-8")
    ran = run(start, page.partition("```py\n")[2].partition("```")[0])
    (trace,) = mine(ran)
    assert [trace.strings[int(n)] for n in trace.api["name"]] == ["aclrtMalloc"] and not trace.missing
