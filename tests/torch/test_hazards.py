"""Hazards between operators of PyTorch: two streams and nothing between them, and programs that are right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'npuscope[torch]'")

HEAD = """
import torch, torch_npu
x = torch.ones(1 << 20).npu()
out = torch.empty(1 << 20, pin_memory=True)
side = torch.npu.Stream()
event = torch.npu.Event()
torch.npu.synchronize()
"""
LINES = HEAD.strip().count("\n") + 1
BAD = {
    "an operator reads what another stream writes": (
        """
x.add_(1)
with torch.npu.stream(side):
    y = x * 2
torch.npu.synchronize()
""",
        [("write-read", "aten::add_", 1, "aten::mul", 3)],
    ),
    "a copy to the host does not wait for the stream that computes": (
        """
with torch.npu.stream(side):
    x.mul_(3)
out.copy_(x, non_blocking=True)
torch.npu.synchronize()
""",
        [("write-read", "aten::mul_", 2, "aclrtMemcpyAsync", 3)],
    ),
    "memory is used again while a side stream reads it": (
        """
with torch.npu.stream(side):
    y = x + 1
del x
z = torch.zeros(1 << 20, device="npu")
torch.npu.synchronize()
""",
        [("read-write", "aten::add", 2, "aten::zero_", 4)],
    ),
}  # fmt: skip
GOOD = {
    "the side stream waits": """
x.add_(1)
side.wait_stream(torch.npu.current_stream())
with torch.npu.stream(side):
    y = x * 2
torch.npu.current_stream().wait_stream(side)
out.copy_(y, non_blocking=True)
torch.npu.synchronize()
""",
    "an event": """
x.add_(1)
event.record()
with torch.npu.stream(side):
    event.wait()
    y = x * 2
    z = y.cpu()
""",
    "one stream trains": """
net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).npu()
optimizer = torch.optim.Adam(net.parameters())
for _ in range(3):
    optimizer.zero_grad()
    loss = net(torch.randn(8, 64).npu()).sum()
    loss.backward()
    optimizer.step()
    print(loss.item() < 1e9)
""",
}


def _found(recorded: object, body: str) -> list[tuple[str, str, int, str, int]]:
    out, _ = recorded(HEAD.strip() + "\n" + body.strip() + "\n", NPU_HAZARDS="1")  # type: ignore[operator]
    (meta,) = Path(out).glob("PROF_*/npuscope/meta.json")
    line = lambda one: int(one["site"].rpartition(":")[2]) - LINES  # noqa: E731
    return [(h["kind"], h["first"]["name"], line(h["first"]), h["second"]["name"], line(h["second"]))
            for h in json.loads(meta.read_text())["hazards"]]  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_planted_hazards_are_told_with_both_lines(recorded, name):
    body, expected = BAD[name]
    assert _found(recorded, body) == expected


@pytest.mark.parametrize("name", GOOD)
def test_correct_programs_are_silent(recorded, name):
    assert _found(recorded, GOOD[name]) == []
