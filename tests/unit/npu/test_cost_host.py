"""Copies and host calls."""

import csv
from importlib import resources

import pytest

from npu import soc
from npu.cost import call_ns, copy_ns, pages_ns
from npu.cost.host import DEFAULT_NS, table

B3, B4, OLD = soc.find("910B3"), soc.find("910B4"), soc.find("310")


def test_pinned_copy_by_hand():
    made = copy_ns(22_000_000, "h2d", "pinned", B3)
    assert (made.latency_ns, made.bytes_per_ns) == (10_000, 22.0)
    assert made.total == 10_000 + 1_000_000


def test_pageable_memory_is_slower():
    assert copy_ns(8_000_000, "d2h", "pageable", B3).total == 10_000 + 1_000_000
    assert copy_ns(1 << 20, "d2h", "pageable", B3).total > copy_ns(1 << 20, "d2h", "pinned", B3).total


def test_tiny_copies_cost_the_floor():
    assert copy_ns(0, "h2d", "pinned", B3).total == copy_ns(4, "h2d", "pinned", B3).total == 10_000


def test_device_copies_follow_memory_bandwidth_whatever_the_host_memory():
    assert copy_ns(1 << 30, "d2d", "pinned", B3) == copy_ns(1 << 30, "d2d", "pageable", B3)
    slow, fast = (copy_ns(1 << 30, "d2d", "pinned", chip).bytes_per_ns for chip in (B4, B3))  # 800 and 1600 GB/s
    assert slow == pytest.approx(fast / 2)


def test_host_copies_and_older_links():
    assert copy_ns(10_000_000, "h2h", "pageable", B3).total == 500 + 1_000_000
    assert copy_ns(1 << 20, "h2d", "pinned", OLD).bytes_per_ns == 11


@pytest.mark.parametrize(("direction", "host_kind"), [("p2p", "pinned"), ("h2d", "shared")])
def test_unknown_copies_are_refused_by_name(direction, host_kind):
    with pytest.raises(ValueError, match=f"{direction}.*{host_kind}"):
        copy_ns(1, direction, host_kind, B3)
    with pytest.raises(ValueError, match="-1 bytes"):
        copy_ns(-1, "h2d", "pinned", B3)


def test_measured_calls():
    assert call_ns("aclrtSetDevice") == 12_600
    assert call_ns("aclrtSetDevice:open") > 100 * 1_000_000
    assert call_ns("aclrtCreateStream") == call_ns("aclrtDestroyStream") == 500_000
    assert call_ns("aclrtResetDevice") == 236_000_000
    assert call_ns("aclmdlExecuteAsync") == 30_000


def test_getters_are_cheap_and_unlisted_calls_cost_the_default():
    assert 200 <= call_ns("aclGetDataBufferAddr") <= 500
    assert call_ns("aclNeverHeardOf") == DEFAULT_NS


def test_every_row_names_its_source_once():
    text = resources.files("npu").joinpath("data/host_costs.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) == len(table())
    assert all(r["source"] and int(r["ns"]) > 0 for r in rows)


def test_pages_cost_by_their_number():
    """64 MiB: 32 huge pages of 2 us, or 16,384 small ones of 0.15 us; 1 GiB of host memory cleared and locked: 262,144 x 0.5 us."""
    assert pages_ns(32, "map_huge") == 64_000
    assert pages_ns(16_384, "map") == 2_457_600
    assert pages_ns(262_144, "clear", "pin") == 131_072_000
    assert pages_ns(7, "unmap") == 560
    assert 30_000 <= call_ns("aclrtMalloc") + pages_ns(32, "map_huge") <= 200_000
