"""Folders torch_npu.profiler writes (*_ascend_pt): their files and columns, what our readers and msprof-analyze make of them."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest

import profiler
from npu import events
from tests.torch.conftest import run_recorded

pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'npuscope[torch]'")

DATA = Path(__file__).parents[1] / "data"
REAL = DATA / "real" / "level1" / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
EXPOSED = "Communication(Not Overlapped)"
STEPS, LATE = (2, 3, 4), 3000.0  # steps that are recorded; us that rank 1 sleeps in each
TRAINING = """
import os, sys, time, torch, torch_npu, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch_npu.profiler import (AiCMetrics, ProfilerActivity, ProfilerLevel, _ExperimentalConfig, profile, schedule,
                                tensorboard_trace_handler)
rank = int(os.environ["LOCAL_RANK"])
torch.npu.set_device(rank)
dist.init_process_group("hccl")
torch.manual_seed(0)
net = DDP(nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).npu(), device_ids=[rank])
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(8, 64).npu(), torch.zeros(8, dtype=torch.long).npu()
config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1, aic_metrics=AiCMetrics.PipeUtilization)
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.NPU], schedule=schedule(wait=1, warmup=1, active=3, repeat=1),
             on_trace_ready=tensorboard_trace_handler(sys.argv[1]), record_shapes=True, profile_memory=True, with_stack=True,
             experimental_config=config) as p:
    p.add_metadata("model", "mlp")
    p.add_metadata_json("distributed_args", '{"tensor_model_parallel_size": 1, "pipeline_model_parallel_size": 1, '
                        '"data_parallel_size": 2, "world_size": 2}')
    for _ in range(6):
        time.sleep(0.003 if rank == 1 else 0)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        loss.item()
        p.step()
dist.destroy_process_group()
"""
INSIDE = """
import torch_npu  # before torch: that is how most scripts begin
import json, torch
from torch_npu.profiler import ExportType, _ExperimentalConfig, dynamic_profile, profile, tensorboard_trace_handler
from torch_npu.profiler.profiler import analyse
net, x = torch.nn.Linear(16, 4).npu(), torch.randn(8, 16).npu()
def step(): net(x).sum().backward()
with profile(with_stack=True) as p:
    step()
p.export_chrome_trace("trace.json")
p.export_stacks("host.txt")
p.export_stacks("device.txt", "self_npu_time_total")
with profile(on_trace_ready=tensorboard_trace_handler("later", analyse_flag=False)) as p:
    step()
    p.step()
analyse("later")
with profile(on_trace_ready=tensorboard_trace_handler("db"), experimental_config=_ExperimentalConfig(export_type=ExportType.Db)):
    step()
dynamic_profile.init("watched")
for n in range(8):
    step()
    if n == 2:
        config = json.load(open("watched/profiler_config.json"))
        config.update(prof_dir="dynamic", active=2, analyse=True)
        json.dump(config, open("watched/profiler_config.json", "w"))
    dynamic_profile.step()
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """What two ranks wrote of a training in which rank 1 is late, by rank."""
    place = tmp_path_factory.mktemp("ranks")
    run_recorded(place, TRAINING, "profiles", ranks=2)
    found = {int(next(p.glob("profiler_info_*.json")).stem[-1]): p for p in (place / "profiles").glob("*_ascend_pt")}
    return [found[rank] for rank in (0, 1)]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def header(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file))


def lags(folders) -> list[float]:
    """us by which rank 1 came to each sum after rank 0: it sleeps that long, and rank 0 has launched all that follows by then, which
    rank 1 still has to do when the sum is there."""
    starts = []
    for folder in folders:
        comm = profiler.open(next(folder.glob("PROF_*"))).comm
        starts.append(comm["start"][comm["level"] == events.COMM_LEVELS.index("op")])
    found = ((starts[1] - starts[0]) / 1000).tolist()
    assert len(found) == len(STEPS) and all(LATE <= lag < LATE + 150 for lag in found)
    return found


def test_files_and_columns_are_those_of_real_folders(folders):
    output = folders[0] / "ASCEND_PROFILER_OUTPUT"
    assert sorted(p.name for p in output.iterdir()) == [
        "api_statistic.csv", "communication.json", "communication_matrix.json", "kernel_details.csv", "memory_record.csv",
        "op_statistic.csv", "operator_details.csv", "operator_memory.csv", "step_trace_time.csv", "trace_view.json",
    ]  # fmt: skip
    for name in ("api_statistic", "memory_record", "op_statistic", "operator_memory", "step_trace_time"):
        made = [c for c in header(output / f"{name}.csv") if c != "Device_id"]  # a column of later versions
        assert made == [c for c in header(REAL / f"{name}.csv") if c != "Device_id"], name
    assert header(output / "operator_details.csv") == header(
        DATA / "real" / "text2023" / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "operator_details.csv"
    )
    real = header(DATA / "msprof-headers" / "kernel_details.csv")
    assert header(output / "kernel_details.csv")[:20] == real[:20]
    metadata = json.loads((folders[0] / "profiler_metadata.json").read_text())
    assert metadata["model"] == "mlp" and metadata["distributed_args"]["data_parallel_size"] == 2
    ((_, group),) = metadata["parallel_group_info"].items()
    assert (group["group_rank"], group["global_ranks"]) == (0, [0, 1])


def test_operators_steps_and_arrows_stand_in_the_timeline(folders):
    listed = json.loads((folders[0] / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text())
    (python,) = [e["pid"] for e in listed if e["name"] == "process_name" and e["args"]["name"] == "Python"]
    assert python == int(folders[0].name.split("_")[1])  # the process's own id
    operators = [e for e in listed if e.get("cat") == "cpu_op"]
    names = [e["name"] for e in operators]
    assert [n for n in names if n.startswith("ProfilerStep")] == [f"ProfilerStep#{n}" for n in STEPS]
    assert names.count("HcclAllreduce") == names.count("c10d::allreduce_") == len(STEPS)
    addmm = next(e for e in operators if e["name"] == "aten::addmm")
    assert addmm["dur"] == 23.999  # 24 us, less the 1 ns by which it ends before what begins then
    assert "script.py" in addmm["args"]["Call stack"]
    arrows = [e for e in listed if e.get("cat") == "async_npu"]
    tails, heads = ([e for e in arrows if e["ph"] == ph] for ph in "sf")
    kernels = {e["ts"] for e in listed if e["ph"] == "X" and e["name"].startswith(("aclnn", "hcom_"))}
    assert len(tails) == len(heads) and {e["ts"] for e in heads} >= kernels
    assert all(e["id"] == int(e["ts"].replace(".", "")) for e in heads)


def test_operators_have_their_times_and_memory_its_operators(folders):
    output = folders[0] / "ASCEND_PROFILER_OUTPUT"
    found = rows(output / "operator_details.csv")
    addmm = [r for r in found if r["Name"] == "aten::addmm"]
    assert len(addmm) == 2 * len(STEPS)
    for row in addmm:
        assert (row["Host Self Duration(us)"], row["Host Total Duration(us)"]) == ("24.000", "24.000")
        assert row["Device Self Duration(us)"] == row["Device Total Duration With AICore(us)"] != "0.000"
        assert "script.py" in row["Call Stack"]
    outer = [r for r in found if r["Name"] == "c10d::allreduce_"]
    inner = [r for r in found if r["Name"] == "HcclAllreduce"]
    assert {r["Host Self Duration(us)"] for r in inner} == {"60.000"}
    for around, within in zip(outer, inner, strict=True):
        assert float(around["Host Self Duration(us)"]) == float(around["Host Total Duration(us)"]) - 60
        assert around["Device Self Duration(us)"] == "0.000"
        assert around["Device Total Duration(us)"] == within["Device Self Duration(us)"]
    allocated = {r["Name"] for r in rows(output / "operator_memory.csv") if r["Allocation Time(us)"]}
    assert allocated and all(n.startswith("aten::") for n in allocated)


def test_our_readers_find_steps_ranks_and_the_late_rank(folders):
    for rank, folder in enumerate(folders):
        trace = profiler.open(folder)
        assert trace.meta["rank"] == rank
        steps = trace.marker["kind"] == events.MARKERS.index("step")
        assert [trace.strings[int(n)] for n in trace.marker["name"][steps]] == [f"ProfilerStep#{n}" for n in STEPS]
        assert np.count_nonzero(trace.comm["level"] == events.COMM_LEVELS.index("op")) == len(STEPS)
    early, late = (rows(f / "ASCEND_PROFILER_OUTPUT" / "step_trace_time.csv") for f in folders)
    for mine, other, lag in zip(early, late, lags(folders), strict=True):
        assert float(mine[EXPOSED]) - float(other[EXPOSED]) == pytest.approx(lag, abs=2e-3)


@pytest.fixture(scope="module")
def inside(tmp_path_factory):
    """The folder in which a script used what the profiler offers besides."""
    place = tmp_path_factory.mktemp("inside")
    run_recorded(place, INSIDE)
    return place


def test_a_span_is_exported_as_a_timeline_and_as_stacks(inside):
    listed = json.loads((inside / "trace.json").read_text())
    assert "aten::addmm" in {e["name"] for e in listed}
    host = dict(line.rsplit(" ", 1) for line in (inside / "host.txt").read_text().splitlines())
    device = dict(line.rsplit(" ", 1) for line in (inside / "device.txt").read_text().splitlines())
    line = INSIDE.splitlines().index("    step()")
    (addmm,) = [k for k in host if k.endswith("aten::addmm")]
    assert addmm.split(";")[0].endswith(f"script.py:{line + 1}_<module>")
    assert host[addmm] == "24" and 0 < int(device[addmm]) < 10


def test_files_of_a_capture_are_written_later_or_as_a_database(inside):
    (later,), (database,) = ((inside / name).glob("*_ascend_pt") for name in ("later", "db"))
    assert (later / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").is_file()
    assert [p.name for p in (database / "ASCEND_PROFILER_OUTPUT").iterdir()] == ["ascend_pytorch_profiler_0.db"]
    assert json.loads((database / "profiler_info_0.json").read_text())["config"]["experimental_config"]["_export_type"] == ["db"]
    assert len(profiler.open(database).task) == len(profiler.open(later).task)


def test_a_changed_file_starts_a_recording_while_the_script_runs(inside):
    """It was changed in step 2, so steps 3 and 4 (of two) are recorded."""
    (made,) = (inside / "dynamic").glob("*_ascend_pt")
    kinds = [r["Name"] for r in rows(made / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv")]
    assert kinds.count("aclnnAddmm_MatMulCommon_MatMulV2") == 2


@pytest.mark.peer
def test_msprof_analyze_reads_the_job(folders, tmp_path):
    from tests.contract.test_peers import analyze

    profiles = str(folders[0].parent)
    analyze("advisor", "all", "-d", profiles, "-o", str(tmp_path / "advisor"), cwd=tmp_path)
    assert list(tmp_path.rglob("mstt_advisor_*.html"))
    said = analyze("compare", "-d", str(folders[0]), "-bp", str(folders[1]), "-o", str(tmp_path / "compare"),
                   "--enable_operator_compare", "--enable_kernel_compare", cwd=tmp_path)  # fmt: skip
    assert "Can't find any" not in said and list(tmp_path.rglob("performance_comparison_result_*.xlsx"))
    said = analyze("cluster", "-m", "all", "-d", profiles, "-o", str(tmp_path / "cluster"), cwd=tmp_path)
    output = tmp_path / "cluster" / "cluster_analysis_output"
    found = {(int(r["Index"]), int(r["Step"])): r for r in rows(output / "cluster_step_trace_time.csv")}
    assert set(found) == {(rank, step) for rank in (0, 1) for step in STEPS}
    for step, lag in zip(STEPS, lags(folders), strict=True):
        assert float(found[0, step][EXPOSED]) - float(found[1, step][EXPOSED]) == pytest.approx(lag, abs=1e-2)
        assert (found[0, step]["DP Index"], found[1, step]["DP Index"]) == ("0", "1")
    matrix = json.loads((output / "cluster_communication_matrix.json").read_text())
    (links,) = [facts for (_, steps) in matrix.items() for ops in steps.values() for n, facts in ops.items() if "Total Op Info" in n]
    assert {"0-1", "1-0"} <= set(links)
    assert os.listdir(tmp_path / "cluster")
