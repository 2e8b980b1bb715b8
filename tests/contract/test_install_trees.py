"""Four host trees in the real layouts: everything expected is reported, nothing else."""

import json
import shutil
from pathlib import Path

import pytest

from diag.check import check
from diag.checks import facts
from diag.evidence.gather import of_paths
from diag.verdict import do, say
from npu.host.files import Files

TREES = sorted(p for p in (Path(__file__).parents[1] / "data" / "install-trees").iterdir() if p.is_dir())
# what must not be reported, by meaning -> ids
MEANING = {
    "driver too old": {"driver_older_than_cann", "driver_below_support"},
    "mixed versions": {"homes_differ", "ld_library_path_other_version", "pythonpath_other_version", "path_mixes_installs"},
    "missing kernels": {"kernels_missing", "kernels_other_chip"},
    "toolkit missing as an error": {"no_cann"},
    "torch_npu mismatch": {"torch_npu_mismatch", "torch_npu_compatible"},
    "firmware mismatch": {"firmware_mismatch"},
}


@pytest.mark.parametrize("tree", TREES, ids=lambda p: p.name)
def test_a_tree_gives_exactly_what_is_expected(tree):
    expected = json.loads((tree / "expected.json").read_text())
    checked = check(of_paths([tree]))
    assert {(v.id, v.severity) for v in checked.verdicts} == {(f["id"], f["severity"]) for f in expected["findings"]}
    assert checked.worst == expected["verdict"]
    forbidden = set().union(*(MEANING[text] for text in expected["must_not_report"]))
    assert not forbidden & {v.id for v in checked.verdicts}
    assert checked.status == (expected["verdict"] != "ok")


@pytest.mark.parametrize("tree", TREES, ids=lambda p: p.name)
def test_the_facts_of_a_tree(tree):
    expected = json.loads((tree / "expected.json").read_text())["facts"]
    seen = of_paths([tree])
    found, install = seen.host.found, facts.active(seen)
    told = {
        "driver": found.drivers[0].version,
        "firmware": found.firmware[0].version,
        "cann": install.version,
        "cann_kind": install.kind,
        "cann_inner": install.inner,
        "nnal_atb": found.extras[0].version if found.extras else "",
        "python": (seen.host.python or "")[:4],
        "torch": seen.host.packages.get("torch"),
        "torch_npu": seen.host.packages.get("torch-npu"),
        "installed": sorted(i.version for i in found.installs),
        "soc_version": facts.chip(seen),
        "soc_name": seen.smi.devices[0].name,
        "kernels": install.kernels[0][1] if install.kernels else "",
        "ops": " ".join(install.kernels[0]) if install.kernels else "",
        "running": install.version,
    }
    for name, value in expected.items():
        assert told[name] == value, name


def test_branches_and_both_ways_out_are_named():
    tree = next(t for t in TREES if t.name.startswith("b-"))
    verdicts = {v.id: v for v in check(of_paths([tree])).verdicts}
    text = say(verdicts["driver_older_than_cann"])
    assert all(part in text for part in ("C12", "C13,C30", "C13", "23.0.RC2"))
    ways = do(verdicts["om_newer_than_runtime"])
    assert len(ways) == 2 and "upgrade this host" in ways[0] and "--soc_version=Ascend310P3" in ways[1] and "6.3.RC2" in ways[1]


def test_real_links_and_flattened_ones_read_the_same(tmp_path):
    """The stored trees hold links as small files; a host has real ones."""
    for tree in TREES:
        copy = tmp_path / tree.name
        shutil.copytree(tree, copy)
        files = Files(tree)
        for path in [p for p in copy.rglob("*") if p.is_file() and p.stat().st_size < 200]:
            target = path.read_text()
            if files.real(f"/{path.relative_to(copy)}") != f"/{path.relative_to(copy)}" and "\n" not in target:
                path.unlink()
                path.symlink_to(target)
        assert any(p.is_symlink() for p in copy.rglob("*"))
        one, other = (check(of_paths([t])) for t in (tree, copy))
        assert one.verdicts == other.verdicts and one.fine == other.fine
