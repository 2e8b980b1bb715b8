"""Training as it is often written: the loss is read after the forward pass of every step, for a line of a log."""

import sys

import torch
import torch_npu
from network import data, network

net = network().npu()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
x, y = (t.npu() for t in data())
for _ in range(int(sys.argv[1])):
    loss = torch.nn.functional.cross_entropy(net(x), y)
    shown = loss.item()  # the host waits here until the device has come this far
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch_npu.npu.synchronize()
print(f"loss {shown:.6f}")
