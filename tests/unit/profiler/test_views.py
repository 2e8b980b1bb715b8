"""Views V6 to V19 by hand. Times in us."""

from __future__ import annotations

import pytest

from npu import events
from profiler.analysis.context import Context
from profiler.analysis.kernel_work import kernel_work, total_bytes
from profiler.analysis.views.operators import operators, sequences
from profiler.analysis.views.tables import VIEWS, tables
from tests.made import Made
from tests.unit.profiler.eager import Eager, bare


def context(made: Made) -> Context:
    return Context(made.trace())


class TestLaunchBound:
    def run(self, kernels: int, host: float, us: float) -> Made:
        run = Eager()
        run.begin()
        for _ in range(kernels):
            run.launch("Mul", us, host=host)
        run.end()
        return run.made

    def test_a_stretch(self) -> None:
        """25 kernels of 5 every 44: from the first kernel to the end of the last 24 * 44 + 5."""
        found = context(self.run(25, 44, 5)).views.launch_bound
        assert (found.count.tolist(), found.span.tolist(), found.busy.tolist()) == ([25], [1_061_000], [125_000])
        assert (found.kernels, found.short, found.launch, found.delay) == (25, 25, 44_000, -42_000)
        assert found.idle == 936_000

    def test_nineteen_kernels_are_no_stretch(self) -> None:
        assert context(self.run(19, 44, 5)).views.launch_bound.count.tolist() == []

    def test_a_queue_is_no_stretch(self) -> None:
        assert context(self.run(25, 5, 44)).views.launch_bound.count.tolist() == []


def test_queue_depth() -> None:
    """Launches at 0, 10, 20; kernels of 40 from 5, 46, 87. Depth: 1 in [0,5), 0, 1 in [10,20), 2 in [20,46), 1 in [46,87), 0."""
    made = Made()
    made.marker("step", "ProfilerStep#0", 0, 130)
    for number, (launch, start) in enumerate(((0, 5), (10, 46), (20, 87))):
        made.api("launch", launch, launch + 3, correlation=number)
        made.task("kernel", start, start + 40, correlation=number)
    (queue,) = context(made).views.queues
    assert queue.mean == pytest.approx((5 + 10 + 2 * 26 + 41) / 130)
    assert (queue.most, queue.half, queue.high, queue.tasks) == (2, 1, 2, 3)
    assert queue.outstanding == pytest.approx((45 + 76 + 107) / 130)
    # idle while empty: [127, 130) behind the last kernel; before the first one a launch is queued
    assert queue.starved_share == pytest.approx(3 / 130)
    assert queue.full_share == 0.0


class TestRoofline:
    def facts(self, dtype: str) -> dict[str, object]:
        return {
            "in_shapes": "4096,1024;1024,2048",
            "in_dtypes": f"{dtype};{dtype}",
            "in_formats": "ND;ND",
            "out_shapes": "4096,2048",
            "out_dtypes": dtype,
            "out_formats": "ND",
            "task_type": "AI_CORE",
        }

    def test_a_product(self) -> None:
        """2 * 4096 * 2048 * 1024 at 2 * 4096 * 20 * 1.8 per ns (910B3): 58.3; 28 MiB at 1600 GB/s: 18.4."""
        found = context(bare([("MatMulV2", 100, {**self.facts("FLOAT16"), "block_dim": 20})])).views.roofline
        assert found.flops.tolist() == [2 * 4096 * 2048 * 1024]
        assert found.bytes.tolist() == [2 * (4096 * 1024 + 1024 * 2048 + 4096 * 2048)]
        assert found.floor_ns[0] == pytest.approx(2 * 4096 * 2048 * 1024 / (2 * 4096 * 20 * 1.8))
        assert (found.cube.tolist(), found.bound.tolist()) == ([True], [-2])

    def test_the_measured_clock_counts(self) -> None:
        made = bare([("MatMulV2", 100, self.facts("FLOAT16"))])
        made.counter("AI Core Freq", 0, 900)
        found = context(made).views.roofline
        assert found.mhz.tolist() == [900]
        assert found.floor_ns[0] == pytest.approx(2 * 4096 * 2048 * 1024 / (2 * 4096 * 20 * 0.9))

    def test_the_busiest_pipe(self) -> None:
        made = bare([("MatMulV2", 100, {**self.facts("FLOAT16"), "aic_mac_ratio": 0.6, "aic_mte2_ratio": 0.85})])
        made.task("kernel", 200, 300, op_type="Add", aiv_vec_ratio=0.3, aic_mac_ratio=float("nan"), aic_mte2_ratio=float("nan"))
        (first, second) = context(made).views.roofline.bound.tolist()
        assert (first, second) == (3, -1)  # mte2; no pipe

    def test_utilisation(self) -> None:
        """One product of 58.3 at full speed in a step of 200; 20 of 20 cores used for 100."""
        made = bare([("MatMulV2", 100, {**self.facts("FLOAT16"), "block_dim": 10, "aic_mac_ratio": 0.5})])
        made.marker("step", "ProfilerStep#0", 0, 200)
        (use,) = context(made).views.utilisation
        assert use.mfu_share == pytest.approx(2 * 4096 * 2048 * 1024 / (2 * 4096 * 20 * 1.8) / 200_000)
        assert (use.fill_share, use.cube_share, use.busy_share) == (0.5, 0.5, 0.5)

    @pytest.mark.parametrize(
        ("op", "ins", "formats", "out", "flops"),
        [
            ("BatchMatMul", "8,64,32;8,32,16", "ND;ND", "8,64,16", 2 * 8 * 64 * 32 * 16),
            ("MatMul", "32,64;32,16", "ND;ND", "64,16", 2 * 64 * 32 * 16),  # the first operand is transposed
            ("Conv2D", "1,3,8,8;4,3,3,3", "NCHW;NCHW", "1,4,8,8", 2 * 8 * 8 * 4 * 3 * 9),
            ("FlashAttentionScore", "2,4,128,64;2,4,256,64", "ND;ND", "2,4,128,64", 4 * 2 * 4 * 128 * 256 * 64),
            ("Add", "64,64;64,64", "ND;ND", "64,64", 64 * 64),
        ],
    )
    def test_operations(self, op: str, ins: str, formats: str, out: str, flops: int) -> None:
        work = kernel_work(op, ins, "FLOAT16;FLOAT16", formats, out, "FLOAT16", "NCHW" if op == "Conv2D" else "ND")
        assert work is not None
        assert work.flops == flops

    def test_unknown_shapes_give_nothing(self) -> None:
        assert kernel_work("Add", "", "", "", "", "", "") is None
        assert kernel_work("Conv2DBackpropInput", "4;8,8", "INT32;FLOAT", "ND;ND", "1,3,8,8", "FLOAT", "NCHW") is None
        assert total_bytes("3,4;5", "FLOAT;DT_BF16") == 58


class TestOperators:
    def test_groups(self) -> None:
        made = bare([("Add", us, {"in_shapes": "8"}) for us in (10, 10, 40)] + [("Mul", 30.0, {})])
        add, mul = (lambda c: operators(c.basis, c.views.roofline, c.critical))(context(made))
        assert (add.op_type, add.count, add.total_ns, add.share) == ("Add", 3, 60_000, pytest.approx(2 / 3))
        assert (add.min_ns, add.median_ns, add.row) == (10_000, 10_000, 2)
        assert add.cv == pytest.approx(14.142 / 20, rel=1e-3)
        assert (mul.count, mul.critical_ns) == (1, 30_000)

    def test_sequences_do_not_overlap_and_the_longest_wins(self) -> None:
        made = bare([(op, 5.0, {}) for op in "ABCD" * 4 + "ABC"])
        found = sequences(context(made).basis)
        assert [("".join(s.ops), s.count) for s in found] == [("ABCD", 4)]
        assert found[0].starts.tolist() == [0, 4, 8, 12]

    def test_sequences_stay_on_their_stream(self) -> None:
        made = Made()
        for number, op in enumerate("ABC" * 4):
            made.task("kernel", number * 10, number * 10 + 5, op_type=op, stream=number % 3)
        assert sequences(context(made).basis) == ()


class TestMemory:
    def test_peak_owners_and_slope(self) -> None:
        """Each of six steps keeps 100 bytes; the third also holds 1000 for a while."""
        made = Made()
        for step in range(6):
            made.marker("step", f"ProfilerStep#{step}", step * 100, step * 100 + 100)
            made.memory("alloc", step * 100 + 10, 100, allocation=step, site="leak.py:1")
            if step == 2:
                made.memory("alloc", 220, 1000, allocation=50, site="work.py:9")
                made.memory("free", 260, 1000, allocation=50)
        made.task("kernel", 0, 600)
        (use,) = context(made).views.memory
        assert (use.peak_bytes, use.at) == (1300, 220_000)
        assert [(o.name, o.bytes, o.blocks) for o in use.owners] == [("work.py:9", 1000, 1), ("leak.py:1", 300, 3)]
        assert (use.slope, use.fit) == (pytest.approx(100), pytest.approx(1))
        assert (use.allocs, use.frees, use.fragmentation_share) == (7, 1, None)

    def test_fragmentation_at_the_highest_reservation(self) -> None:
        made = Made()
        made.memory("sample", 0, -1, allocated=100, reserved=400)
        made.memory("sample", 10, -1, allocated=300, reserved=1000)
        made.memory("sample", 20, -1, allocated=500, reserved=600)
        (use,) = context(made).views.memory
        assert (use.peak_bytes, use.reserved_bytes) == (500, 1000)
        assert use.fragmentation_share == pytest.approx(0.7)


def test_copies_by_direction_memory_and_call() -> None:
    """Two blocking ones of 1 MiB in 100 each, one half beside a kernel."""
    made = Made()
    made.marker("step", "ProfilerStep#0", 0, 400)
    facts = {"direction": "h2d", "host_kind": "pageable", "bytes": 1 << 20, "blocking": 1}
    for number, start in enumerate((0, 150)):
        made.api("aclrtMemcpy", start, start + 110, correlation=number, **facts)
        made.task(
            "copy", start + 5, start + 105, correlation=number, stream=2, direction="h2d", host_kind="pageable", bytes=1 << 20
        )
    made.task("kernel", 205, 300)
    (cell,) = context(made).views.copies
    assert (cell.direction, cell.host_kind, cell.blocking, cell.count) == ("h2d", "pageable", "blocking", 2)
    assert (cell.time_ns, cell.host_ns, cell.sizes) == (200_000, 220_000, (0, 0, 0, 2, 0))
    assert cell.hidden_share == pytest.approx(50 / 200)
    assert cell.gbps == pytest.approx(2 * (1 << 20) / 200_000)


def test_host_threads() -> None:
    """Thread 0: 60 in calls of which 50 wait, 40 between them; the inner call's 20 are not the outer one's own."""
    made = Made()
    made.task("kernel", 0, 100)
    made.api("aclnnMul", 0, 10)
    made.api("aclrtSynchronizeStream", 50, 100, blocking=1)
    made.api("aclrtQueryEventStatus", 60, 80)
    host = context(made).views.host
    (thread,) = host.threads
    assert (thread.calls, thread.in_calls_ns, thread.waiting_ns, thread.user_ns) == (3, 60_000, 50_000, 40_000)
    assert [(a.name, a.self_ns, a.total_ns, a.kind) for a in host.apis] == [
        ("aclrtSynchronizeStream", 30_000, 50_000, "sync"),
        ("aclrtQueryEventStatus", 20_000, 20_000, "sync"),
        ("aclnnMul", 10_000, 10_000, "cann"),
    ]


def test_clocks_and_counters() -> None:
    made = Made()
    made.task("kernel", 0, 100)
    made.counter("AI Core Freq", 0, 1800)
    made.counter("AI Core Freq", 75, 900)
    made.counter("HBM 0/Read", 10, 100)
    made.counter("HBM 0/Read", 20, 300)
    views = context(made).views
    assert [(c.mhz, c.share) for c in views.clocks] == [(900.0, 0.25), (1800.0, 0.75)]
    (read,) = (c for c in views.counters if c.name == "HBM 0/Read")
    assert (read.name, read.samples, read.least, read.mean, read.most) == ("HBM 0/Read", 2, 100, 200, 300)


def test_losses() -> None:
    made = Made()
    for number in range(4):
        made.api("launch", number * 10, number * 10 + 3, level="node", correlation=number)
    made.task("kernel", 5, 9, correlation=0, op_type="Add")
    made.task("kernel", 50, 60)
    lost = context(made).views.losses
    assert (lost.launches, lost.orphans, lost.rank_assumed) == (3, 1, True)
    assert [(n.name, n.launched, n.kernels) for n in lost.by_name] == [("Add", 4, 1)]


def test_every_table_has_a_title_and_its_columns_in_both_languages() -> None:
    from profiler import texts

    made = everything()
    shown = tables(context(made))
    assert {v.id for v in shown} == {name for name, _ in VIEWS}
    for lang in texts.LANGUAGES:
        for view in shown:
            assert texts.label("view", view.id, lang)
            for column in view.rows[0]:
                assert texts.label("column", column, lang), column


def everything() -> Made:
    """A trace that has something for every view."""
    run = Eager()
    made = run.made
    facts: dict[str, object] = {
        "in_shapes": "8,8;8,8",
        "in_dtypes": "FLOAT16;FLOAT16",
        "in_formats": "ND;ND",
        "out_shapes": "8,8",
    }
    for step in range(6):
        run.begin()
        for op in ("MatMul", "Add", "Mul") * 10:
            run.launch(op, 3, host=8, **{**facts, "out_dtypes": "FLOAT16", "out_formats": "ND"})
        made.memory("alloc", run.now, 100, allocation=step, site="a.py:1")
        made.api("aclrtMemcpy", run.now, run.now + 10, correlation=9000 + step, bytes=10, direction="h2d", blocking=1)
        made.task("copy", run.now + 1, run.now + 9, correlation=9000 + step, bytes=10, direction="h2d", stream=3)
        run.now += 10
        run.end()
    begin = run.now - 60
    made.comm("op", "allReduce", begin, begin + 40)
    wait = events.COMM_PARTS.index("wait")
    made.comm("part", "", begin, begin + 30, part=wait, src=0, dst=1)
    made.comm("part", "", begin + 30, begin + 40, part=0, src=0, dst=1, bytes=4096, link="HCCS")
    made.counter("AI Core Freq", 0, 1800)
    made.counter("HBM 0/Read", 10, 5)
    made.api("launch", run.now - 50, run.now - 49, level="node", correlation=99_999)
    return made
