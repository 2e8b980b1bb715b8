"""Two profiles side by side: the layers add up, rows say why, noise is let pass. Times us."""

from __future__ import annotations

import pytest

from profiler.analysis.compare import compare, pairs
from profiler.findings import Comparison
from profiler.report.compare import lines, markdown, to_json
from profiler.trace import Trace, Unreadable
from tests.made import Made
from tests.truth.machine import Machine, fused


def steps(matmul: float = 50, casts: int = 0, copy: float = 10, own: float = 5, comm: float = 20, jitter: tuple[float, ...] = (),
          dtype: str = "FLOAT16", name: str = "hcom_allReduce__123_0_1") -> Trace:  # fmt: skip
    """Six marked steps (as many as jitter has values): own code, copy, MatMul, casts of 4, collective; the device has no gap of its own."""
    made, now = Made(), 0.0
    for step in range(len(jitter) or 6):
        begin = now
        now += own + (jitter[step] if jitter else 0)
        made.api("aclrtMemcpyAsync", now, now + 1, correlation=10 * step, blocking=0, direction="h2d")
        made.task("copy", now, now + copy, correlation=10 * step, direction="h2d")
        now += copy
        shapes = '"16,16;16,16"' if dtype[0] == "D" else "16,16;16,16"
        made.task("kernel", now, now + matmul, op_type="MatMulV2", in_shapes=shapes, in_dtypes=f"{dtype};{dtype}")
        now += matmul
        for _ in range(casts):
            made.task("kernel", now, now + 4, op_type="Cast", in_shapes="16,16", in_dtypes=dtype)
            now += 4
        made.comm("op", name, now, now + comm, bytes=4096, group="g")
        now += comm
        made.marker("step", str(step), begin, now)
    made.meta["world_size"] = 8
    return made.trace()


def layers(made: Comparison) -> dict[str, float]:
    return {d.layer: (d.b_ns - d.a_ns) / 1000 for d in made.layers}


@pytest.mark.parametrize(("changed", "layer", "by"), [
    ({"matmul": 60}, "computing", 10), ({"casts": 3}, "computing", 12), ({"copy": 15}, "copies", 5), ({"own": 25}, "host", 20),
    ({"comm": 50}, "communication", 30),
])  # fmt: skip
def test_the_difference_lies_in_its_layer_and_the_layers_add_up(changed: dict[str, float], layer: str, by: float) -> None:
    made = compare(steps(), steps(**changed))  # type: ignore[arg-type]
    assert {n: v for n, v in layers(made).items() if v} == {layer: by}
    assert (made.a_ns, made.b_ns) == (85_000, 85_000 + by * 1000)
    assert sum(d.a_ns for d in made.layers) == made.a_ns and sum(d.b_ns for d in made.layers) == made.b_ns
    assert made.kind == "slower" and made.noise == 0
    assert compare(steps(**changed), steps()).kind == "faster"  # type: ignore[arg-type]


def test_rows_say_why() -> None:
    made = compare(steps(casts=1), steps(casts=3, matmul=60, copy=5))
    rows = {r.name: r for r in made.rows}
    cast, matmul = rows["Cast 16,16 FLOAT16"], rows["MatMulV2 16,16;16,16 FLOAT16;FLOAT16"]
    assert (cast.kind, cast.a_count, cast.b_count, cast.b_ns - cast.a_ns) == ("more", 1, 3, 8_000)
    assert (matmul.kind, matmul.a_ns, matmul.b_ns) == ("slower", 50_000, 60_000)
    assert rows["copy h2d"].kind == "faster"
    assert [r.name for r in made.rows[:2]] == [matmul.name, cast.name]  # by size
    gone = {r.name: r.kind for r in compare(steps(casts=1), steps()).rows}
    assert gone["Cast 16,16 FLOAT16"] == "gone"
    assert {r.name: r.kind for r in compare(steps(), steps(casts=1)).rows}["Cast 16,16 FLOAT16"] == "new"


def test_spelling_of_tools_does_not_count() -> None:
    """DT_ in front of types, quotes around shapes, numbers behind the collective's name."""
    assert compare(steps(), steps(dtype="DT_FLOAT16", name="hcom_allReduce__77_5_1")).rows == ()


def test_differences_within_the_noise_are_none() -> None:
    """Own code of 5 + (0, 2, 4, ...): deviations 5, 3, 1, 1, 3, 5 from the median, so MAD 3 and noise 6; the mean step is 5
    longer."""
    noisy = compare(steps(), steps(jitter=(0, 2, 4, 6, 8, 10)))
    assert noisy.noise == 6_000
    assert noisy.b_ns - noisy.a_ns == 5_000
    assert noisy.kind == "same"
    assert {d.kind for d in noisy.layers} == {"same"}
    assert compare(steps(), steps(own=12, jitter=(0, 2, 4, 6, 8, 10))).kind == "slower"


def test_steps_of_two_kinds_hide_no_large_change() -> None:
    """Own code of 5 and 205 in turns, 40 steps of 85 and 285: the MAD is 100, and noise of 200 would let a step of 85 pass as the
    same as one of 185 in the mean. Of that mean is known: variance 100 x 100, 3 standard errors 300 / sqrt(39) = 48. One of six
    such steps is known no better than 134."""
    turns = compare(steps(), steps(jitter=(0, 200) * 20))
    assert (turns.noise, turns.b_ns - turns.a_ns, turns.kind) == (48_038, 100_000, "slower")
    few = compare(steps(), steps(jitter=(0, 200) * 3))
    assert (few.noise, few.kind) == (134_164, "same")


def test_whole_spans_without_steps() -> None:
    def once(kernel: float) -> Trace:
        made = Made()
        made.task("kernel", 0, kernel, op_type="Add")
        return made.trace()

    made = compare(once(10), once(20))
    assert (made.a_steps, made.noise, made.change, made.kind) == (0, None, 1.0, "slower")
    assert [(r.name, r.kind, r.a_path_ns, r.b_path_ns) for r in made.rows] == [("Add", "slower", 10_000, 20_000)]


def test_ranks_are_matched() -> None:
    traces = []
    for rank in (0, 1, 3):
        traces.append(steps())
        traces[-1].meta["rank"] = rank
    assert pairs(traces[:2], traces[1:]) == [(traces[1], traces[1])]
    assert pairs(traces[:1], traces[2:]) == [(traces[0], traces[2])]  # no rank in common: by place


def test_a_missing_wait_is_seen_as_host_time() -> None:
    def loop(sync: bool) -> Trace:
        machine = Machine()
        for _ in range(10):
            machine.execute(fused(20))
            if sync:
                machine.sync()
            machine.work(50)
        machine.sync()
        return machine.made.trace()

    made = compare(loop(False), loop(True))
    assert layers(made)["host"] == max(layers(made).values()) > 40
    assert any(r.name == "aclrtSynchronizeStream" and r.kind == "more" for r in made.rows)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_forms(lang: str) -> None:
    made = compare(steps(casts=1), steps(casts=3, matmul=60, copy=5))
    text, table = "\n".join(lines(made, lang)), list(markdown(made, lang))
    assert "MatMulV2" in text and "+12.4 %" not in text and "{" not in text
    assert all(line.count("|") == table[5].count("|") for line in table if line.startswith("|"))
    facts = to_json(made)
    assert facts["verdict"] == "slower"
    assert sum(d["b_us"] - d["a_us"] for d in facts["layers"]) == pytest.approx(facts["wall"]["b_us"] - facts["wall"]["a_us"])


class TestSums:
    """Profiles without rows in time: what their tables of sums say. Times in ms."""

    def steps(self, free: float, count: int = 4, jitter: float = 0) -> Trace:
        made = Made()
        ms = {"computing": 120.0, "communication_not_overlapped": 4.0, "free": free}
        table = {n: [round((v + (jitter * (i % 2) if n == "free" else 0)) * 1e6) for i in range(count)] for n, v in ms.items()}
        made.meta["tables"] = {"step_trace_time": table}
        return made.trace()

    def operators(self, **ops: tuple[int, float]) -> Trace:
        made = Made()
        names, counts, totals = list(ops), [c for c, _ in ops.values()], [round(t * 1e6) for _, t in ops.values()]
        made.meta["tables"] = {
            "op_statistic": {"op_type": names, "core_type": ["AI_CORE"] * len(ops), "count": counts, "total": totals}
        }
        return made.trace()

    def test_steps(self) -> None:
        made = compare(self.steps(140), self.steps(640))
        assert (made.kind, made.a_ns, made.b_ns, made.a_steps, made.sums) == ("slower", 264_000_000, 764_000_000, 4, True)
        assert layers(made) == pytest.approx({"computing": 0, "communication": 0, "copies": 0, "host": 500_000, "device": 0})

    def test_steps_within_the_noise(self) -> None:
        """Free times of 100 and 120 in turns: the median deviation is 10, the noise 20; 10 more is the same."""
        assert compare(self.steps(100, jitter=20), self.steps(110, jitter=20)).kind == "same"

    def test_operators_and_calls(self) -> None:
        made = compare(self.operators(MatMulV2=(200, 24), TransData=(400, 34)), self.operators(MatMulV2=(200, 24), TransData=(40, 3.4)))
        assert (made.kind, made.a_ns, made.b_ns) == ("faster", 58_000_000, 27_400_000)
        assert [(r.name, r.kind, r.a_count, r.b_count) for r in made.rows] == [("TransData", "fewer", 400, 40)]
        assert "the sum of all recorded times" in "\n".join(lines(made)) and "全部记录时间之和" in "\n".join(lines(made, "zh"))

    def test_what_cannot_be_compared_is_refused(self) -> None:
        """A table of memory says nothing of time; sums against a time line would give a difference that is none."""
        for one, other in ((Made().trace(), Made().trace()), (self.steps(140), steps()), (steps(), self.steps(140))):
            with pytest.raises(Unreadable):
                compare(one, other)
