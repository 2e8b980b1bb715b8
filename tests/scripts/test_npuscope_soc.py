"""`npuscope soc` and the chip files and counter groups a run can ask for."""

import csv
import json

import pytest

SCRIPT = """
import acl
acl.init(); acl.rt.set_device(0)
size = 1 << 20
device, _ = acl.rt.malloc(size, 0)
acl.rt.memset(device, size, 0, size)
acl.rt.free(device); acl.rt.reset_device(0); acl.finalize()
"""


def test_all_chips_and_one(start):
    told = start("npuscope", "soc", "--json")
    chips = {c["chip"]: c for c in json.loads(told.out)["chips"]}
    assert chips["Ascend910B3"]["aic_cnt"] == {"name": "aic_cnt", "value": "20", "unit": "", "unverified": False}
    assert chips["Ascend310P3"]["mem_bw_gbps"]["unverified"]
    one = json.loads(start("npuscope", "soc", "910_9392", "--json").out)
    values = {p["name"]: p["value"] for p in one["parameters"]}
    assert (values["dies"], values["die_link_gbps"], values["cube_freq_mhz"]) == ("2", "224", "1850")
    text = start("npuscope", "soc", "Ascend910B3").out
    assert "clock: 1800 MHz" in text
    assert "rated power: 350 W  (unverified)" in text


def test_an_unknown_chip_names_the_nearest(start):
    ran = start("npuscope", "soc", "310P9")
    assert ran.code == 2
    assert ran.err.splitlines() == ["npuscope: 310P9 is no known chip", "  next: did you mean 310P3? npuscope soc lists them"]


def test_a_chip_of_ones_own_runs_and_is_read_back(start, tmp_path):
    (tmp_path / "mine.toml").write_text('name = "Mine"\nlike = "Ascend910B3"\naic_cnt = 30\n')
    (tmp_path / "script.py").write_text(SCRIPT)
    chip = str(tmp_path / "mine.toml")
    asked = ("--soc", chip, "--aic-metrics", "MemoryAccess")
    ran = start("msprof", "run", "--output", str(tmp_path), *asked, str(tmp_path / "script.py"))
    assert ran.code == 0, ran.err
    (meta,) = tmp_path.glob("PROF_*/npuscope/meta.json")
    facts = json.loads(meta.read_text())
    assert (facts["soc"], facts["collection"]) == ("Mine", {"aic_metrics": "MemoryAccess"})


def test_an_unknown_group_is_refused(start, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    ran = start("msprof", "run", "--aic-metrics", "Everything", str(tmp_path / "script.py"))
    assert ran.code == 2
    assert "--aic-metrics=Everything does not exist" in ran.err


@pytest.mark.slow
def test_a_model_shows_the_group_asked_for(start, tmp_path):
    import onnx
    from onnx import TensorProto, helper

    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "x"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT16, [64, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT16, [64, 64])])  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "net.onnx")
    files = f"--model={tmp_path / 'net.onnx'}", f"--output={tmp_path / 'net'}"
    made = start("atc", *files, "--framework=5", "--soc_version=Ascend910B3")
    assert made.code == 0, made.out
    (tmp_path / "script.py").write_text(
        "import acl\nacl.init(); acl.rt.set_device(0)\n"
        f"model, _ = acl.mdl.load_from_file({str(tmp_path / 'net.om')!r})\n"
        "desc = acl.mdl.create_desc(); acl.mdl.get_desc(desc, model)\n"
        "sets = []\n"
        "for size in (acl.mdl.get_input_size_by_index(desc, 0), acl.mdl.get_output_size_by_index(desc, 0)):\n"
        "    data, _ = acl.rt.malloc(size, 0); one = acl.mdl.create_dataset()\n"
        "    acl.mdl.add_dataset_buffer(one, acl.create_data_buffer(data, size)); sets.append(one)\n"
        "print(acl.mdl.execute(model, *sets)); acl.mdl.unload(model); acl.rt.reset_device(0); acl.finalize()\n")
    ran = start("msprof", "run", "--output", str(tmp_path), "--aic-metrics", "MemoryAccess", str(tmp_path / "script.py"))
    assert ran.out.strip().startswith("0"), ran.out + ran.err
    (path,) = tmp_path.glob("PROF_*/mindstudio_profiler_output/op_summary_*.csv")
    rows = list(csv.DictReader(path.open()))
    row = next(r for r in rows if r["OP Type"].startswith("MatMul"))
    # 2 x 64 x 64 halves in, one out
    assert float(row["aic_GM_to_L1_datas(KB)"]) == 16
    assert float(row["aic_L0C_to_GM_datas(KB)"]) == 8
    assert "aic_mac_ratio" not in row
