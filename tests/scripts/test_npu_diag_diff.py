"""`npu-diag diff`: what differs, and which host is the odd one out."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # many starts of programs

TREES = Path(__file__).parents[1] / "data" / "install-trees"


def test_two_trees(start):
    ran = start("npu-diag", "diff", str(TREES / "a-dev-matching"), str(TREES / "c-mixed-ld-library-path"), "--json")
    told = json.loads(ran.out)
    items = {f["item"]: f["values"] for f in told["findings"]}
    assert ran.code == 1 and items["driver version"] == ["25.2.0", "24.1.0"]
    assert items["cann in force"] == ["8.2.RC1 (toolkit)", "8.0.0 (toolkit)"]
    assert items["library libascendcl.so"] == ["toolkit 8.2.RC1", "toolkit 7.0.0"]
    assert items["package torch-npu"] == ["2.6.0", "2.4.0.post2"]
    assert "env HOME" not in items and "package numpy" not in items  # equal on both


def test_the_same_host_twice_is_no_difference(start):
    tree = str(TREES / "a-dev-matching")
    ran = start("npu-diag", "diff", tree, tree)
    assert ran.code == 0 and ran.out == "no differences in what all of them tell\n"


def test_of_three_the_odd_one_is_marked(start, tmp_path):
    for name, value in (("one", "200"), ("two", "200"), ("three", "400")):
        (tmp_path / f"{name}.env").write_text(f"HCCL_BUFFSIZE={value}\n")
    ran = start("npu-diag", "diff", "one.env", "two.env", "three.env")
    assert ran.code == 1
    assert ran.out.splitlines() == [
        "env HCCL_BUFFSIZE",
        "    one.env: 200",
        "    two.env: 200",
        "    three.env: 400  <- differs from the others",
        "1 difference(s)",
    ]


def test_the_difference_that_breaks_comes_first(start):
    ran = start("npu-diag", "diff", str(TREES / "a-dev-matching"), str(TREES / "c-mixed-ld-library-path"))
    lines = ran.out.splitlines()
    assert lines[0].startswith("ERROR breaks c-mixed-ld-library-path, and not a-dev-matching: The libraries come from another install")
    assert lines[1] == "  what differs: env LD_LIBRARY_PATH"
    assert lines[2].startswith("  do: take /usr/local/Ascend/ascend-toolkit/7.0.0/runtime/lib64 out of LD_LIBRARY_PATH")
    marked = [line for line in lines if line.endswith("<- breaks it")]
    assert marked == ["    c-mixed-ld-library-path: /usr/local/Ascend/ascend-toolkit/7.0.0/runtime/lib64 (and 6 that all have)  <- breaks it"]
    assert not [line for line in lines if line.startswith("cann package")]  # the whole CANN differs: its packages are no news


def test_of_many_hosts_those_of_one_value_share_a_line(start, tmp_path):
    for n in range(6):
        (tmp_path / f"h{n}.env").write_text(f"HCCL_BUFFSIZE={400 if n in (1, 4) else 200}\n")
    ran = start("npu-diag", "diff", *(f"h{n}.env" for n in range(6)))
    assert ran.out.splitlines() == [
        "env HCCL_BUFFSIZE",
        "    h0.env, h2.env, h3.env, h5.env: 200",
        "    h1.env, h4.env: 400  <- differs from the others",
        "1 difference(s)",
    ]


def test_what_all_hosts_suffer_from_is_no_difference(start):
    tree = str(TREES / "c-mixed-ld-library-path")
    assert start("npu-diag", "diff", tree, tree, tree).out == "no differences in what all of them tell\n"


def test_of_several_hosts_the_broken_ones_are_named_and_a_value_others_have_is_not_blamed(start):
    start("npu-diag", "host", "create", "newer", "--preset", "toolkit-newer")
    ran = start("npu-diag", "diff", ".", "newer", "newer", "--json")
    told = json.loads(ran.out)
    (one,) = told["breaks"]
    assert ran.code == 1 and (one["hosts"], one["not"], one["items"]) == (["newer", "newer"], ["."], ["driver version"])
    chinese = start("npu-diag", "diff", ".", "newer", "--lang", "zh").out
    assert chinese.startswith("错误 致使出错 newer, 而不影响 .: 驱动 22.0.4") and chinese.endswith("共 2 处差异\n")


def test_not_there_and_not_known_are_two_things(start, tmp_path):
    (tmp_path / "env").write_text("HCCL_BUFFSIZE=200\n")
    (tmp_path / "other").write_text("HCCL_CONNECT_TIMEOUT=600\n")
    (tmp_path / "pip").write_text("torch==2.6.0\n")
    ran = start("npu-diag", "diff", "env", "other", "pip", "--json")
    items = {f["item"]: f["values"] for f in json.loads(ran.out)["findings"]}
    assert items == {"env HCCL_BUFFSIZE": ["200", "-", None], "env HCCL_CONNECT_TIMEOUT": ["-", "600", None]}


def test_simulated_hosts_by_name_and_this_one(start):
    start("npu-diag", "host", "create", "old", "--preset", "old-driver")
    ran = start("npu-diag", "diff", ".", "old")
    assert ran.code == 1 and "driver version\n    .: 25.5.0\n    old: 23.0.7  <- breaks it\n" in ran.out
    one = start("npu-diag", "diff", "old")
    assert one.code == 2 and "cannot be compared" in one.err
