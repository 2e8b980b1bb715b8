"""What an acl.json asks for at acl.init: profiling of the whole run, a dump, a device for threads that choose none."""

from __future__ import annotations

import numpy as np
import pytest

from profiler.read.own import read
from tests.scripts.acl_script import said

WRITE = """
import acl, json, os, threading
def config(**parts):
    with open("acl.json", "w") as file:
        json.dump(parts, file)
    return "acl.json"
"""


def test_threads_without_a_device_take_that_of_the_configuration(start):
    assert said(
        start,
        """
print(acl.init(config(defaultDevice={"default_device": "two"})), acl.init(config(defaultDevice={"default_device": "1"})))
print(acl.rt.malloc(16, 0)[1], acl.rt.get_device(), acl.rt.synchronize_stream(0))
other = threading.Thread(target=lambda: print(acl.rt.get_device(), acl.rt.set_device(0), acl.rt.get_device()))
other.start()
other.join()
print(acl.rt.reset_device(1), acl.rt.reset_device(0), acl.finalize())
""",
        head=WRITE,
    ) == ["100000 0", "0 (1, 0) 0", "(1, 0) 0 (0, 0)", "0 0 0"]


def test_profiling_goes_from_init_to_finalize(start, tmp_path):
    assert said(
        start,
        """
os.mkdir("out")
on = {"switch": "on", "output": "out", "aic_metrics": "PipeUtilization", "aicpu": "on", "msproftx": "off"}
print(acl.init(config(profiler={**on, "output": "nowhere"})), acl.init(config(profiler={**on, "aic_metrics": "Everything"})))
print(acl.init(config(profiler=on)), acl.init(), acl.rt.set_device(0), acl.prof.init("out"))
p, _ = acl.rt.malloc(1 << 20, 0)
s, _ = acl.rt.create_stream()
print(acl.rt.memset_async(p, 1 << 20, 0, 1 << 20, s), acl.rt.synchronize_stream(s), acl.finalize_reference())
print(acl.finalize(), acl.prof.finalize(), [f[:5] for f in os.listdir("out")])
""",
        head=WRITE,
    ) == ["100000 100000", "0 100002 0 100042", "0 0 (1, 0)", "0 100043 ['PROF_']"]
    (made,) = (tmp_path / "out").iterdir()
    trace = read(made)
    calls = [trace.strings[int(n)] for n in np.asarray(trace.api["name"])]
    assert "aclrtMemsetAsync" in calls and "aclrtSynchronizeStream" in calls
    assert len(trace.task["start"]) == 1


@pytest.mark.parametrize("switch", ["off", ""])
def test_what_is_switched_off_is_not_done(start, switch):
    assert said(
        start,
        f"""
print(acl.init(config(profiler={{"switch": {switch!r}}}, dump={{"dump_path": "."}})), acl.finalize())
print([f for f in os.listdir(".") if f.startswith("PROF")])
""",
        head=WRITE,
    ) == ["0 0", "[]"]
