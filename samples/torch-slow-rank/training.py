"""The training both scripts run: texts that take as long to prepare as they are, a small network in DistributedDataParallel."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from itertools import islice

import torch
import torch.distributed as dist
import torch_npu
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

TEXTS, BATCH, WIDTH = 256, 8, 128
WORD_NS = 2_000  # preparing a word


class Texts(Dataset):
    """Sorted by length, from 32 to 287 words, as they stand in the file."""

    def __len__(self) -> int:
        return TEXTS

    def __getitem__(self, number: int) -> tuple[torch.Tensor, int]:
        words = 32 + number
        time.sleep(words * WORD_NS / 1e9)
        generator = torch.Generator().manual_seed(number)
        return torch.randn(WIDTH, generator=generator), number % 10


def train(part: Callable[[Texts, int, int], Iterable[int]], steps: int) -> None:
    """Some steps of training on the part of the texts that each rank takes; rank 0 says how long a step took."""
    torch_npu.npu.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("hccl")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(WIDTH, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)).npu()
    net = DistributedDataParallel(net, device_ids=[torch_npu.npu.current_device()])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    texts = Texts()
    loader = DataLoader(texts, batch_size=BATCH, sampler=list(part(texts, rank, ranks)))
    begun = time.perf_counter()
    for x, y in islice(loader, steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x.npu()), y.npu())
        loss.backward()
        optimizer.step()
    torch_npu.npu.synchronize()
    if rank == 0:
        print(f"{1000 * (time.perf_counter() - begun) / steps:.2f} ms a step")
    dist.destroy_process_group()
