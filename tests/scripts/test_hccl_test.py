"""`hccl_test` as a user runs it: the real tool's form, every size, a whole cluster in seconds."""

from __future__ import annotations

import re
import resource
from itertools import pairwise

import pytest

from tests.scripts.conftest import Run

pytestmark = pytest.mark.slow  # many starts of programs

FIRST = "the minbytes is {}, maxbytes is {}, iters is 20, warmup_iters is 10"
HEADER = "data_size(Bytes): | aveg_time(us): | alg_bandwidth(GB/s): | check_result:"
ROW = re.compile(r"^(\d{1,17}) *\| (\d+\.\d\d) *\| (\d+\.\d{5}) *\| (success|failed|NULL)$")


def rows(text: str) -> list[tuple[int, float, float, str]]:
    found = []
    for line in text.splitlines()[2:]:
        match = ROW.match(line)
        assert match is not None, line
        found.append((int(match[1]), float(match[2]), float(match[3]), match[4]))
    return found


def test_the_form_of_the_real_tool(start: Run) -> None:
    ran = start("hccl_test", "all_reduce", "-b", "8K", "-e", "64M", "-f", "2", "-d", "fp32", "-o", "sum", "-p", "8")
    lines = ran.out.splitlines()
    assert ran.code == 0, ran.err
    assert lines[:2] == [FIRST.format(8192, 64 << 20), HEADER]
    assert lines[2] == f"{8192:<17} | {rows(ran.out)[0][1]:<14.2f} | {rows(ran.out)[0][2]:<20.5f} | success"
    found = rows(ran.out)
    assert [r[0] for r in found] == [8192 << n for n in range(14)]
    assert all(abs(size / us / 1000 - rate) < 0.01 * rate + 1e-5 for size, us, rate, _ in found)
    assert all(a[1] < b[1] for a, b in pairwise(found))


@pytest.mark.slow
def test_a_cluster_of_4096_within_a_minute_and_2_gb(start: Run) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = start("hccl_test", "all_reduce", "-b", "8K", "-e", "1G", "-f", "2", "-p", "8", "--servers", "512", timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert ran.code == 0 and len(rows(ran.out)) == 18
    assert {r[3] for r in rows(ran.out)} == {"NULL"}  # nothing is carried out for so many
    assert after.ru_utime - before.ru_utime < 30
    assert after.ru_maxrss < 2 << 20  # KiB, of the largest child so far


@pytest.mark.parametrize("op", ["all_gather", "reduce_scatter", "scatter", "broadcast", "reduce", "alltoall", "alltoallvc"])
def test_every_operation_and_which_size_its_bandwidth_counts(start: Run, op: str) -> None:
    """Gathering and scattering count the part of one rank times the ranks, the others the printed size."""
    ran = start("hccl_test", f"{op}_test", "-b1M", "-e", "1M", "-p", "4", "--servers", "2")
    ((size, us, rate, verdict),) = rows(ran.out)
    times = 8 if op in ("all_gather", "reduce_scatter", "scatter") else 1
    assert abs(size * times / us / 1000 - rate) < 0.01 * rate
    assert verdict == "success"


def test_a_result_that_cannot_be_represented_is_not_checked(start: Run) -> None:
    ran = start("hccl_test", "all_reduce", "-b", "1K", "-e", "1K", "-d", "int8", "-o", "prod", "-p", "8")
    assert rows(ran.out)[0][3] == "NULL"
    assert rows(start("hccl_test", "all_reduce", "-b", "1K", "-e", "1K", "-c", "0").out)[0][3] == "NULL"


@pytest.mark.parametrize(
    ("words", "what", "next"),
    [
        (("all_gater",), "no operation 'all_gater'", "did you mean all_gather?"),
        (("all_reduce", "-b", "eight"), "-b eight", "8K, 64M or 1G"),
        (("all_reduce", "-b", "2M", "-e", "1M"), "sizes from 2097152 to 1048576", "-e not below it"),
        (("all_reduce", "-x", "1"), "-x is no option", "--help"),
        (("all_reduce", "-p"), "-p needs a value", "--help"),
        (("all_reduce", "-p", "0"), "-p 0", "--help"),
        (("all_reduce", "-d", "uint8"), "uint8 with sum is not reduced", "another -d"),
        (("all_reduce", "-d", "fp31"), "no such type", "--help"),
        (("broadcast", "-r", "9"), "-r 9: there are 8 ranks", "0 to 7"),
        (("all_reduce", "--soc", "Ascend999"), "--soc=Ascend999", "Ascend910B3"),
        (("all_reduce", "--algo", "level1:zigzag"), "level1:zigzag", "another algorithm"),
        (("scaling", "--compute", "fast"), "--compute fast", "200ms"),
    ],
)
def test_mistakes_are_two_lines(start: Run, words: tuple[str, ...], what: str, next: str) -> None:
    ran = start("hccl_test", *words)
    lines = ran.err.splitlines()
    assert ran.code == 2 and len(lines) == 2, ran.err
    assert what in lines[0] and next in lines[1]


@pytest.mark.slow
def test_scaling_is_a_table_and_a_page(start: Run) -> None:
    ran = start("hccl_test", "scaling", "--compute", "100ms", "--gradients", "512M", "--bucket", "25M", "--output", "curve.html")
    lines = ran.out.splitlines()
    assert ran.code == 0, ran.err
    assert lines[0] == "computation 100 ms, gradients 512 MiB in buckets of 25 MiB, servers of 8"
    assert [int(line.split("|")[0]) for line in lines[2:-1]] == [8 << n for n in range(14)]
    assert lines[-1] == "written: curve.html"
    assert "without overlap (ms)" in (ran.folder / "curve.html").read_text()
