"""A pyACL script's lines: started with the library initialised and device 0 open, its output by line."""

from __future__ import annotations

from tests.scripts.conftest import Run

HEAD = """
import acl, numpy as np
acl.init(); acl.rt.set_device(0)
"""


def said(start: Run, body: str, head: str = HEAD, **env: str) -> list[str]:
    """What a script prints; it must end well."""
    ran = start("python", "-m", "npu", "script.py", script=head.strip() + "\n" + body, env={"NPU_CLOCK": "model", **env})
    assert ran.code == 0, ran.err
    return ran.out.splitlines()
