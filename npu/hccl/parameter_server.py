"""The baseline that collectives replace: all ranks push to one, it adds up, all pull. Its port carries p times the tensor."""

from __future__ import annotations

from collections.abc import Sequence

from npu.hccl.transfer import Steps, moved


def all_reduce(ranks: Sequence[int], at: int, size: int) -> Steps:
    """The first rank serves: 2a + 2 (p - 1) n b on its port."""
    server, *others = ranks
    push = [t for rank in others for t in moved(rank, server, [(at, size)], reduce=True)]
    pull = [t for rank in others for t in moved(server, rank, [(at, size)])]
    return [push, pull] if others else []
