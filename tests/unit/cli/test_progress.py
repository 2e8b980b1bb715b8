"""How far something has come: on a terminal, after a while, and never in a pipe."""

import io
import sys

import pytest

from cli.progress import counted
from tests.made_onnx import convert, model, node


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stream, after, shown", [(Terminal, 0.0, True), (Terminal, 1e-9, True), (Terminal, 3600.0, False),
                                                  (io.StringIO, 0.0, False)])
def test_it_is_shown_to_people_who_wait(monkeypatch, stream, after, shown):
    written = stream()
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setenv("TERM", "xterm")
    with counted("converting", after) as told:
        if told is not None:
            told(2, 3)
    assert ("converting" in written.getvalue() and "2/3" in written.getvalue()) == shown
    assert bool(written.getvalue()) == shown


@pytest.mark.parametrize("flags, steps", [({}, 3), ({"input_shape": "x:-1,2", "dynamic_batch_size": "1,4"}, 5)])
def test_a_conversion_tells_every_step(tmp_path, flags, steps):
    """Reading, the model, one step a shape, writing."""
    from npu.graph.compile import compile
    from npu.graph.options import conversion

    convert(model([node("Relu", "x", "y")], "y", {}, {"x": [1, 2]}), tmp_path)
    told = []
    options = conversion({"framework": "5", "model": str(tmp_path / "m.onnx"), "output": str(tmp_path / "m"), "export_compile_stat": "0",
                          "soc_version": "Ascend910B3", **flags}, "atc")
    compile(options, told=lambda done, whole: told.append((done, whole)))
    assert told == [(n, steps) for n in range(1, steps + 1)]
