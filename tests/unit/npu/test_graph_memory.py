"""The feature map by lifetimes: never two live blocks in one place, and figures by hand."""

from hypothesis import given
from hypothesis import strategies as st

from npu.graph.memory_plan import ALIGN, Lifetime, aligned, feature_map


def test_a_chain_needs_two_places():
    # a -> b -> c -> d: each lives until the next is made
    blocks = [Lifetime(1000, 0, 1), Lifetime(1000, 1, 2), Lifetime(1000, 2, 3), Lifetime(1000, 3, 3)]
    assert feature_map(blocks) == (2048, 2048)
    assert feature_map(blocks, reuse=False) == (4096, 0)


def test_a_shortcut_stays():
    blocks = [Lifetime(512, 0, 3), Lifetime(512, 1, 2), Lifetime(512, 2, 3), Lifetime(512, 3, 4)]
    assert feature_map(blocks) == (1536, 512)


lifetimes = st.lists(st.builds(lambda size, first, length: Lifetime(size, first, first + length),
                               st.integers(0, 5000), st.integers(0, 12), st.integers(0, 6)), max_size=30)


@given(lifetimes)
def test_between_the_peak_and_the_sum(blocks):
    size, saved = feature_map(blocks)
    total = sum(aligned(b.bytes) for b in blocks)
    peak = max((sum(aligned(b.bytes) for b in blocks if b.first <= t <= b.last) for t in range(20)), default=0)
    assert peak <= size <= total and size + saved == total and size % ALIGN == 0
