"""The same texts dealt out one by one: every rank has short and long ones."""

import sys

from torch.utils.data import DistributedSampler
from training import train


def dealt(texts, rank, ranks):
    return DistributedSampler(texts, num_replicas=ranks, rank=rank, shuffle=False)


if __name__ == "__main__":
    train(dealt, int(sys.argv[1]))
