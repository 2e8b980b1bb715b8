"""Which switch of the native msprof makes which file, line by line; and what each switch leaves out of the others."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import profiler
from cli.native.msprof import main
from tests import made_onnx
from tests.scripts.conftest import BIN, Ran, Run
from tests.scripts.model_script import SETS

pytestmark = pytest.mark.slow

SCRIPT = "import acl, mstx, numpy as np, sys, time" + SETS + """
acl.init(); acl.rt.set_device(0)
stream, _ = acl.rt.create_stream()
model, ret = acl.mdl.load_from_file("net.om")
sets = sets_of(model)
mstx.mark("begin", stream, "data")
number = mstx.range_start("run", stream, "model")
for _ in range(3):
    assert acl.mdl.execute_async(model, *sets, stream) == 0
mstx.range_end(number, "model")
assert acl.rt.synchronize_stream(stream) == 0
mstx.mark("end")
"""
ALWAYS = {"msprof.json", "op_summary.csv", "op_statistic.csv", "api_statistic.csv", "task_time.csv", "db"}
GRAPHS = {"step_trace.csv", "step_trace.json", "fusion_op.csv"}
# The rows of "which switch makes which file", then what the switches take away.
ROWS = [
    ((), set(), set()),
    (("--task-memory=on",), {"memory_record.csv", "operator_memory.csv", "static_op_mem.csv"}, set()),
    (("--msproftx=on",), {"msprof_tx.csv", "msprof_tx.json"}, set()),
    (("--sys-hardware-mem=on",), {"npu_mem.csv", "hbm.csv"}, set()),
    (("--sys-interconnection-profiling=on",), {"pcie.csv"}, set()),
    (("--l2=on", "--aicpu=on", "--dvpp-profiling=on"), {"l2_cache.csv"}, set()),  # nothing ran on the AI CPU and the media engine
    (("--type=db",), set(), (ALWAYS | GRAPHS) - {"db"}),
    (("--ascendcl=off",), set(), {"api_statistic.csv"}),
    (("--task-time=off",), set(), {"op_summary.csv", "op_statistic.csv", "task_time.csv"} | GRAPHS),
    (("--task-time=l0",), set(), {"op_statistic.csv", "fusion_op.csv"}),
    (("--ai-core=off",), set(), set()),
]


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A product with its addition: one fused kernel, and a softmax."""
    nodes = [made_onnx.node("MatMul", "x w", "h"), made_onnx.node("Add", "h b", "a"), made_onnx.node("Softmax", "a", "y")]
    weights = {"w": np.ones((16, 32), np.float32), "b": np.ones(32, np.float32)}
    folder = tmp_path_factory.mktemp("net")
    return made_onnx.convert(made_onnx.model(nodes, "y", weights, {"x": [8, 16]}), folder, **made_onnx.ORIGIN).path


def collect(start: Run, net: Path, *options: str, script: str = SCRIPT) -> Ran:
    script = script.replace("net.om", str(net))
    ran = start("msprof", "--output=out", *options, sys.executable, "script.py", script=script, env={"NPU_CLOCK": "model", "NPU_COMPUTE": "off"})
    assert ran.code == 0 and "left with" not in ran.err, ran.out + ran.err
    return ran


def table(ran: Ran, name: str) -> list[dict[str, str]]:
    (path,) = ran.folder.glob(f"out/PROF_*/mindstudio_profiler_output/{name}_2*.csv")
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def timeline(ran: Ran, name: str) -> list[dict[str, object]]:
    (path,) = ran.folder.glob(f"out/PROF_*/mindstudio_profiler_output/{name}_2*.json")
    events: list[dict[str, object]] = json.loads(path.read_text())
    return events


@pytest.mark.parametrize(("options", "more", "less"), ROWS, ids=lambda v: " ".join(v) if isinstance(v, tuple) else "")
def test_which_switch_makes_which_file(
    start: Run, net: Path, options: tuple[str, ...], more: set[str], less: set[str]
) -> None:
    ran = collect(start, net, *options)
    (prof,) = ran.profs
    files = {p.name.rpartition("_")[0] + p.suffix for p in (prof / "mindstudio_profiler_output").glob("*_2*.*")}
    files |= {"db"} if list(prof.glob("msprof_*.db")) else set()
    assert files == (ALWAYS | GRAPHS | more) - less


def test_the_capture_knows_its_switches_when_it_is_exported_again(start: Run, net: Path) -> None:
    collect(start, net, "--type=db", "--ascendcl=off", "--task-time=l0")
    ran = start("msprof", "--export=on", "--output=out")
    assert ran.code == 0
    files = {p.name.rpartition("_")[0] for p in ran.folder.glob("out/PROF_*/mindstudio_profiler_output/*_2*.*")}
    assert files == {"msprof", "op_summary", "task_time", "step_trace"}


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory, net: Path) -> Ran:
    """The script with its marks collected, once for the tests that only look."""
    folder = tmp_path_factory.mktemp("marked")
    (folder / "script.py").write_text(SCRIPT.replace("net.om", str(net)))
    env = {**{k: v for k, v in os.environ.items() if not k.startswith("NPU")}, "NPU_STATE_DIR": str(folder), "NPU_CLOCK": "model", "NPU_COMPUTE": "off"}
    words = [str(BIN / "msprof"), "--output=out", "--msproftx=on", sys.executable, "script.py"]
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "left with" not in done.stderr, done.stdout + done.stderr
    return Ran(done, folder)


def test_marks_are_in_every_file_with_their_times_on_the_device(marked: Ran) -> None:
    ran = marked
    rows = table(ran, "msprof_tx")
    assert [(r["message"], r["event_type"], r["domain"], r["Device_id"]) for r in rows] == [
        ("begin", "marker_ex", "data", "0"), ("run", "start/end", "model", "0"), ("end", "marker", "default", "host")]
    begin, run, end = rows
    assert end["Device Start_time(us)"] == "N/A" and run["Start_time(us)"].endswith("\t")
    kernels = table(ran, "op_summary")
    first, last = float(kernels[0]["Task Start Time(us)"]), float(kernels[-1]["Task Start Time(us)"])
    assert float(begin["Device End_time(us)"]) <= first and float(run["Device Start_time(us)"]) <= first
    assert float(run["Device End_time(us)"]) >= last + float(kernels[-1]["Task Duration(us)"])
    assert float(run["Start_time(us)"]) < float(run["End_time(us)"]) < float(run["Device End_time(us)"])
    for events in (timeline(ran, "msprof_tx"), timeline(ran, "msprof")):
        names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
        mine = [e for e in events if e["ph"] == "X" and names.get(e["pid"]) == "script.py"]
        assert [(e["name"], e["dur"]) for e in mine] == [("begin", 0.0), ("run", pytest.approx(mine[1]["dur"])), ("end", 0.0)]
        assert mine[1]["dur"] == pytest.approx(float(run["End_time(us)"]) - float(run["Start_time(us)"]), abs=0.001)
        arrows = [e for e in events if e.get("cat") == "MsTx"]
        assert [e["ph"] for e in arrows] == ["s", "f"] * 2 and arrows[0]["id"] == arrows[1]["id"]
    with closing(sqlite3.connect(next(ran.profs[0].glob("msprof_*.db")))) as db:
        found = db.execute("SELECT m.value, d.value, e.name FROM MSTX_EVENTS x JOIN STRING_IDS m ON m.id = x.message JOIN STRING_IDS"
                           " d ON d.id = x.domainId JOIN ENUM_MSTX_EVENT_TYPE e ON e.id = x.eventType ORDER BY startNs").fetchall()  # fmt: skip
    assert found == [("begin", "data", "marker_ex"), ("run", "model", "start/end"), ("end", "default", "marker")]


@pytest.mark.parametrize(("option", "messages"), [
    ("--mstx-domain-include=model,data", ["begin", "run"]), ("--mstx-domain-exclude=model,absent", ["begin", "end"]),
])  # fmt: skip
def test_domains_of_marks_are_chosen(start: Run, net: Path, option: str, messages: list[str]) -> None:
    ran = collect(start, net, "--msproftx=on", option)
    assert [r["message"] for r in table(ran, "msprof_tx")] == messages


def test_fused_kernels_name_their_operators_and_sizes(marked: Ran) -> None:
    (row,) = table(marked, "fusion_op")
    kernel = next(r for r in table(marked, "op_summary") if r["Op Name"] == row["Fusion Op"])
    assert kernel["OP Type"].startswith("MatMul") and len(row["Original Ops"].split(";")) == 2
    # 8x16 + 16x32 + 32 elements in, 8x32 out, of 4 bytes
    assert (row["Memory Input(KB)"], row["Memory Output(KB)"], row["Memory Total(KB)"]) == ("2.625", "1.0", "3.625")
    assert row["Device_id"] == "host" and row["Memory Weight(KB)"] == "N/A"


def test_steps_of_models_are_a_timeline_with_the_figures_of_the_table(marked: Ran) -> None:
    events = [e for e in timeline(marked, "step_trace") if e["ph"] == "X"]
    rows = table(marked, "step_trace")
    assert [e["args"]["Iteration ID"] for e in events] == [int(r["Iteration ID"]) for r in rows] == [1, 2, 3]
    for event, row in zip(events, rows, strict=True):
        assert event["ts"] == event["args"]["FP Start"] == row["FP Start(us)"].strip()
        assert event["dur"] == float(row["Iteration Time(us)"]) and event["args"]["BP End"] == "N/A"
        assert event["args"]["Data_aug Bound(us)"] == row["Data Aug Bound(us)"]


def test_counters_are_there_only_with_ai_core_and_shapes_without_types_with_aicore_shape(start: Run, net: Path) -> None:
    rows = table(collect(start, net, "--ai-core=off"), "op_summary")
    assert not any(name.endswith("_ratio") for name in rows[0]) and rows[0]["OP Type"] != "N/A"


def test_shapes_at_level_zero(start: Run, net: Path) -> None:
    rows = table(collect(start, net, "--task-time=l0", "--aicore-shape=on"), "op_summary")
    assert rows[0]["Input Shapes"].startswith('"8,16;') and rows[0]["OP Type"] == rows[0]["Task Type"] == "N/A"


SLEEPS = """
import acl, time
acl.init(); acl.rt.set_device(0)
for n in range(8):
    acl.rt.get_run_mode()
    time.sleep(0.5)
"""


@pytest.mark.parametrize(("options", "calls"), [(("--duration=2",), 4), (("--delay=1", "--duration=2"), 4)])
def test_a_stretch_of_the_programs_time(start: Run, net: Path, options: tuple[str, ...], calls: int) -> None:
    """Calls come at 0, 0.5 .. 3.5 s of the program's time, each a little late."""
    ran = collect(start, net, *options, script=SLEEPS)
    (row,) = [r for r in table(ran, "api_statistic") if r["API Name"] == "aclrtGetRunMode"]
    assert int(row["Count"]) == calls


def test_samples_of_hardware_memory_follow_from_what_happened(start: Run, net: Path) -> None:
    ran = collect(start, net, "--sys-hardware-mem=on", "--sys-hardware-mem-freq=100", script="""
import acl, time
acl.init(); acl.rt.set_device(0)
size = 8 << 20
host, _ = acl.rt.malloc_host(size)
stream, _ = acl.rt.create_stream()
time.sleep(0.1)
device, _ = acl.rt.malloc(size, 2)
acl.rt.memcpy_async(device, size, host, size, 1, stream)
acl.rt.synchronize_stream(stream)
time.sleep(0.1)
acl.rt.free(device)
time.sleep(0.1)
acl.rt.get_run_mode()
""")  # fmt: skip
    rows = table(ran, "npu_mem")
    held = [float(r["hbm(KB)"]) for r in rows]
    assert {r["event"] for r in rows} == {"app"} and {r["memory(KB)"] for r in rows} == {r["hbm(KB)"] for r in rows}
    full = [n for n, kb in enumerate(held) if kb >= 8192]  # a tenth of a second
    assert len(full) in (10, 11) and full == list(range(full[0], full[-1] + 1)) and set(held[: full[0]]) == {0.0}
    stamps = [float(r["timestamp(us)"]) for r in rows]
    assert np.allclose(np.diff(stamps), 10_000)
    average = {r["Metric"]: r for r in table(ran, "hbm")}["Average"]
    assert float(average["Write(MB/s)"]) == pytest.approx(8 / ((len(rows) - 1) * 0.01), rel=0.01)
    assert float(average["Read(MB/s)"]) == 0


@pytest.mark.parametrize(("options", "line"), [
    (("--mstx-domain-include=a",), "Argument --mstx-domain-include: it needs --msproftx=on."),
    (("--msproftx=on", "--mstx-domain-include=a", "--mstx-domain-exclude=b"),
     "Argument --mstx-domain-include: it excludes --mstx-domain-exclude."),
    (("--aicore-shape=on",), "Argument --aicore-shape: it needs --task-time=l0; l1 has the shapes."),
    (("--sys-cpu-profiling=on",), "Argument --sys-cpu-profiling: on is not available on the simulated NPU: processors of the"),
    (("--aic-mode=sample-based",), "Argument --aic-mode: sample-based is not available on the simulated NPU: counters are kept"),
    (("--host-sys=cpu",), "Argument --host-sys: cpu is not available on the simulated NPU: use the host's own tools"),
    (("--sys-io-profiling=on",), "Argument --sys-io-profiling: on is not available on the simulated NPU: network cards"),
    (("--delay=0",), "Argument --delay: invalid value: 0. Please input an integer from 1 to 4294967295."),
    (("--storage-limit=199MB",), "Argument --storage-limit: invalid value: 199MB."),
])  # fmt: skip
def test_what_does_not_apply_is_refused_by_name(
    options: tuple[str, ...], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([f"--output={tmp_path / 'out'}", *options, "python", "-c", "pass"]) == 255
    assert capsys.readouterr().out.startswith(f"[ERROR] {line}") and not (tmp_path / "out").exists()


def test_one_iteration_is_exported_with_the_layers_that_are_wanted(start: Run, net: Path) -> None:
    ran = collect(start, net)
    (prof,) = ran.profs
    shutil.rmtree(prof / "mindstudio_profiler_output")
    (ran.folder / "reports.json").write_text('{"json_process": {"cann": false}}')
    assert start("msprof", "--export=on", "--output=out", "--iteration-id=2", "--reports=reports.json").code == 0
    kernels = table(ran, "op_summary")
    assert len(kernels) == 2 and {r["Iteration ID"] for r in table(ran, "step_trace")} == {"1"}
    names = {e["args"]["name"] for e in timeline(ran, "msprof") if e["name"] == "process_name"}
    assert "Ascend Hardware" in names and "CANN" not in names
    wrong = start("msprof", "--export=on", "--output=out", "--iteration-id=4")
    assert wrong.code == 255 and "Argument --iteration-id: invalid value: 4." in wrong.out and "there are 3 iterations." in wrong.out


def test_analyze_says_when_nothing_communicated(marked: Ran, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--analyze=on", f"--output={marked.folder / 'out'}"]) == 0
    assert "[WARNING] There is no communication in " in capsys.readouterr().out


def test_a_folder_without_its_capture_has_each_mark_once(marked: Ran, tmp_path: Path) -> None:
    """Marks stand in the timeline, in a timeline of their own and in a table: a reader of the real layout must not count them thrice."""
    (prof,) = marked.profs
    shutil.copytree(prof, tmp_path / prof.name, ignore=shutil.ignore_patterns("npuscope", "*.db"))
    trace = profiler.open(tmp_path / prof.name)
    assert [trace.strings[int(n)] for n in trace.marker["name"]] == ["begin", "run", "end"]
    assert int(trace.marker["end"][1] - trace.marker["start"][1]) > 0
