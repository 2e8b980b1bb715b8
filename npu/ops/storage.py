"""Storage formats: how many cells a tensor takes in the block layouts of the cube unit.

C0, the innermost block, is 32 bytes of elements: 16 for 2-byte types, 32 for 1-byte types, and 8 for float32 (as real
profiles show: FLOAT "32,1,224,224,8" for NC1HWC0 of 3 channels).
"""

from __future__ import annotations

from math import ceil, gcd, lcm

from npu.dtypes import DTYPES

N0 = 16


def c0(dtype: str) -> int:
    """Channels in one block for that element type."""
    return max(int(32 // DTYPES[dtype][1]), 1) if dtype in DTYPES else 16


def nc1hwc0(dims: tuple[int, ...], dtype: str) -> tuple[int, ...]:
    """[N, C, H, W] -> [N, ceil(C/C0), H, W, C0], padded with zeros."""
    n, c, h, w = dims
    block = c0(dtype)
    return n, ceil(c / block), h, w, block


def fractal_z(dims: tuple[int, ...], dtype: str, groups: int = 1) -> tuple[int, ...]:
    """Weights [Co, Ci/groups, Kh, Kw] -> [C1*Kh*Kw, ceil(N/16), 16, C0].

    Grouped: E = min(lcm(C0/gcd(C,C0), 16/gcd(N,16)), G) groups share a block, C and N are those of E groups and the first axis
    is ceil(G/E) times as long (transfer_shape_utils of the graph engine).
    """
    co, ci, kh, kw = dims
    block, per_group = c0(dtype), max(co // max(groups, 1), 1)
    together = min(lcm(block // gcd(ci, block), N0 // gcd(per_group, N0)), groups) if groups > 1 else 1
    c1 = ceil(ci * together / block)
    return ceil(groups / together) * c1 * kh * kw, ceil(per_group * together / N0), N0, block


def fractal_nz(dims: tuple[int, ...], dtype: str) -> tuple[int, ...]:
    """[.., M, N] -> [.., ceil(N/C0), ceil(M/16), 16, C0]; rank 1 counts as [1, N]."""
    full = dims if len(dims) > 1 else (1, *dims)
    *lead, m, n = full
    block = c0(dtype)
    return *lead, ceil(n / block), ceil(m / N0), N0, block
