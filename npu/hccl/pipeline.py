"""Pipeline: a ring between servers, overlapped with a mesh inside. While the ring passes a piece on, the piece that came the step
before is spread inside the server: max(between, inside) (S - 1) + inside for S servers.
"""

from __future__ import annotations

from npu.hccl.hierarchical import Servers
from npu.hccl.transfer import Step, Steps, moved, split


def all_gather(servers: Servers, at: int, size: int) -> Steps:
    """Rank i of server s starts with slice s * L + i. Step k: the ring passes the slice of server s - k on to s + 1, the mesh
    spreads the one that arrived the step before (at first the own one)."""
    count, width = len(servers), len(servers[0])
    slices = split(at, size, count * width)
    steps: Steps = []
    for k in range(count):
        step: Step = []
        for s, server in enumerate(servers):
            following = servers[(s + 1) % count]
            for i, rank in enumerate(server):
                piece = [slices[(s - k) % count * width + i]]
                if k + 1 < count:
                    step += moved(rank, following[i], piece)
                step += [t for peer in server if peer != rank for t in moved(rank, peer, piece)]
        steps.append(step)
    return [step for step in steps if step]


def reduce_scatter(servers: Servers, at: int, size: int) -> Steps:
    """The all-gather backwards, adding up."""
    backwards = reversed(all_gather(servers, at, size))
    return [[t._replace(src=t.dst, dst=t.src, reduce=True) for t in step] for step in backwards]


def all_reduce(servers: Servers, at: int, size: int) -> Steps:
    """Reduce-scatter, then all-gather."""
    return reduce_scatter(servers, at, size) + all_gather(servers, at, size)
