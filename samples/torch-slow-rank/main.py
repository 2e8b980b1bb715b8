"""Each rank takes a block of the sorted texts: the last one gets all the long ones, and the others wait for it in every step."""

import sys

from training import train


def block(texts, rank, ranks):
    size = len(texts) // ranks
    return range(rank * size, (rank + 1) * size)


if __name__ == "__main__":
    train(block, int(sys.argv[1]))
