"""`npu-diag host`, and what a host changes for the other commands."""

import json

import pytest

pytestmark = pytest.mark.slow  # many starts of programs


def test_make_list_choose_show(start):
    made = start("npu-diag", "host", "create", "prod", "--preset", "production", "--devices", "2")
    assert made.code == 0 and made.out.splitlines()[0] == f"written: {made.folder / 'state' / 'hosts' / 'prod'}"
    assert start("npu-diag", "host", "create", "dev", "--layout", "cann").code == 0
    listed = start("npu-diag", "host", "list").out.splitlines()
    assert listed == [
        "  dev                  driver 25.5.1, runtime 8.5.0, toolkit 8.5.0, 8 x Ascend910B3",
        "  prod                 driver 25.5.0, runtime 8.3.RC1, no toolkit, 2 x Ascend910B3",
        "* (built in)           the default machine, without a folder",
    ]
    assert start("npu-diag", "host", "use", "prod").code == 0
    assert start("npu-diag", "host", "list").out.splitlines()[1].startswith("* prod")
    assert start("npu-diag", "host", "show").out.startswith("prod: driver 25.5.0")
    assert json.loads(start("npu-diag", "host", "show", "dev", "--json").out)["cann_version"] == "8.5.0"
    assert start("npuscope", "--version").out.strip().endswith("simulated: 2 x Ascend910B3, driver 25.5.0")
    assert start("npuscope", "--version", env={"NPU_HOST": "dev"}).out.strip().endswith("8 x Ascend910B3, driver 25.5.1")
    assert start("npu-diag", "host", "use", "built-in").code == 0
    assert start("npu-diag", "host", "show").out.startswith("the built-in default machine")


def test_refusals(start):
    assert start("npu-diag", "host", "create", "a").code == 0
    for words, part in (
        (("create", "a"), "exists already"),
        (("create", "../a"), "cannot be the name"),
        (("create", "b", "--preset", "desktop"), "desktop"),
        (("create", "b", "--cann", "1.0"), "CANN 1.0 is not known"),
        (("create", "b", "--soc", "Ascend1"), "Ascend1"),
        (("use", "aa"), "no host"),
        (("show", "zzz"), "no host"),
    ):
        ran = start("npu-diag", "host", *words)
        assert ran.code == 2 and part in ran.err and len(ran.err.splitlines()) == 2, words
    ran = start("npu-diag", "check", env={"NPU_HOST": "gone"})
    assert ran.code == 2 and "NPU_HOST=gone: no such host" in ran.err
    assert start("npu-diag", "host", "create", "a", "--force", "--driver", "none").code == 0


def test_atc_builds_with_the_toolkit_of_the_host_and_is_not_there_without_one(start, tmp_path):
    from npu import om
    from tests.made_onnx import model, node

    (tmp_path / "net.onnx").write_bytes(model([node("Relu", "x", "y")], "y", {}, {"x": [1, 4]}).SerializeToString())
    start("npu-diag", "host", "create", "dev", "--cann", "8.0.0")
    start("npu-diag", "host", "create", "prod", "--preset", "production")
    convert = ("atc", "--model=net.onnx", "--framework=5", "--output=net", "--soc_version=Ascend910B3")
    assert start(*convert, env={"NPU_HOST": "dev"}).code == 0
    assert om.load(tmp_path / "net.om").build["cann"] == "8.0.0"
    refused = start(*convert, env={"NPU_HOST": "prod"})
    assert refused.code == 127 and "runtime only" in refused.err and "NPU_HOST=<name> atc" in refused.err


def test_the_device_tool_on_a_host_without_driver(start):
    start("npu-diag", "host", "create", "bare", "--preset", "no-driver")
    ran = start("npu-smi", "info", env={"NPU_HOST": "bare"})
    assert ran.code == 187 and "-8005" in ran.out
