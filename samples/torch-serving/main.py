"""An inference service as it is often written: every operator of every request is launched on its own."""

import sys
import time

import torch
import torch_npu
from network import network, requests

net = network().npu()
with torch.inference_mode():
    net(next(requests(1)).npu())
    torch_npu.npu.synchronize()
    begun = time.perf_counter()
    count = int(sys.argv[1])
    answers = [net(x.npu()).argmax(-1).cpu() for x in requests(count)]
    took = time.perf_counter() - begun
print(f"{took / count * 1e3:.2f} ms a request, sum of the answers {sum(int(a.sum()) for a in answers)}")
