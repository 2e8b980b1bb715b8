"""Requests of all sizes in a compiled network: every new size is a graph of its own, until Dynamo has enough of it.

main.py COUNT open: one graph of open shapes instead, which the host launches kernel by kernel."""

import sys
import time

import torch
import torch_npu
from network import network, requests

count, opened = int(sys.argv[1]), sys.argv[2:] == ["open"]
net = torch.compile(network().npu(), backend="npu", dynamic=opened)
took = []
with torch.inference_mode():
    for x in requests(count):
        begun = time.perf_counter()
        answer = net(x.npu()).argmax(-1).cpu()
        took.append(time.perf_counter() - begun)
torch_npu.npu.synchronize()
compiled = [t for t in took if t > 0.5]
usual = sorted(took)[len(took) // 2]
print(f"{sum(took):.2f} s for {count} requests, {len(compiled)} of them compile; the median request takes {usual * 1e3:.2f} ms")
