"""Rule 2, second part: device rows that are there and cannot be what happened. Times in us."""

from __future__ import annotations

from tests.made import Made
from tests.unit.profiler.eager import bare
from tests.unit.profiler.said import said


def ids(made: Made) -> list[str]:
    return [f.id for f in said(made, "capture-incomplete")]


def queue(long: float = 5000, count: int = 80) -> Made:
    """Kernels of 90, each 100 after the one before; the middle one says it takes `long`."""
    made = Made()
    for number in range(count):
        length = long if number == count // 2 else 90
        made.task("kernel", 100 * number, 100 * number + length, name=f"MatMul_{number}", op_type="MatMulV3")
    return made


class TestOverrun:
    def test_positive(self) -> None:
        """It covers the 39 behind it; 4900 of its 5000 lie behind the begin of the next."""
        (finding,) = said(queue(), "capture-incomplete")
        assert (finding.id, finding.facts["name"], finding.gain) == ("capture-overrun", "MatMul_40", None)
        assert (finding.facts["longest_ns"], finding.facts["next_ns"]) == (5_000_000, 100_000)
        assert (finding.facts["median_ns"], finding.facts["excess_ns"]) == (90_000, 4_900_000)

    def test_near_miss_two_covered_and_five_percent(self) -> None:
        """Parts of one kernel on cube and vector cores may overlap; 380 of 80 kernels of 90 are 5.2 %, 300 are 4.1 %."""
        made = bare([("MatMulV3", 90.0, {})] * 80)
        assert ids(made) == []
        assert ids(queue(long=285)) == []
        assert ids(queue(long=899)) == []  # under ten times the middle one

    def test_clean_streams_side_by_side(self) -> None:
        made = queue()
        for row in made.rows["task"]:
            if row["name"] == "MatMul_40":
                row["stream"] = 7
        assert ids(made) == []


class TestTwice:
    def test_positive(self) -> None:
        made = queue(long=90)
        made.rows["task"] += [dict(row) for row in made.rows["task"][:20]]
        (finding,) = said(made, "capture-incomplete")
        assert (finding.id, finding.facts["count"], finding.facts["kernels"]) == ("capture-twice", 20, 100)

    def test_near_miss_two_rows_and_other_names(self) -> None:
        made = queue(long=90)
        made.rows["task"] += [dict(row) for row in made.rows["task"][:2]]
        assert ids(made) == []
        made = queue(long=90)
        made.rows["task"] += [dict(row) | {"name": "part"} for row in made.rows["task"][:20]]
        assert ids(made) == []


class TestSkew:
    def ranks(self, first: float = 50_000, others: int = 20) -> Made:
        """A collective of `first`, then kernels of 300 and collectives of 15 in turns."""
        made = Made()
        now = 0.0
        for number in range(others + 1):
            length = first if number == 0 else 15
            made.comm("op", f"hcom_allReduce__{number}_1", now, now + length, group="586", op=number)
            made.task("kernel", now + length, now + length + 300, op_type="MatMulV3", name="mm")
            now += length + 300
        return made

    def test_positive(self) -> None:
        (finding,) = said(self.ranks(), "capture-incomplete")
        assert (finding.id, finding.facts["name"], finding.gain) == ("capture-skew", "hcom_allReduce", None)
        assert (finding.facts["first_ns"], finding.facts["usual_ns"], finding.facts["others"]) == (50_000_000, 15_000, 20)

    def test_near_misses(self) -> None:
        """Under a hundred times the others; under a tenth of the recording; nine others tell nothing."""
        assert ids(self.ranks(first=1499)) == []
        assert ids(self.ranks(first=1600, others=50)) == []
        assert ids(self.ranks(others=9)) == []


def test_a_launch_of_a_collective_is_answered_by_the_collective() -> None:
    made = Made()
    for number in range(12):
        at = 400.0 * number
        made.api("launch", at, at + 4, level="node", correlation=2 * number)
        made.task("kernel", at + 5, at + 300, correlation=2 * number, op_type="MatMulV3")
        made.api("launch", at + 6, at + 9, level="node", correlation=2 * number + 1)
        made.comm("op", f"hcom_allReduce__{number}_1", at + 301, at + 330, correlation=2 * number + 1)
    assert ids(made) == []
    for row in made.rows["comm"][:3]:
        row["correlation"] = -1
    (finding,) = said(made, "capture-incomplete")
    assert (finding.facts["launched"], finding.facts["lost"]) == (24, 3)


def test_a_step_that_works_off_what_was_launched_before_it_is_not_empty() -> None:
    made = Made()
    for step in range(6):
        at = 1000.0 * step
        made.marker("step", f"ProfilerStep#{step}", at, at + 1000)
        made.api("launch", at - 300, at - 296, level="node", correlation=step)
        made.task("kernel", at + 10, at + 900, correlation=step, op_type="MatMulV3")
    assert ids(made) == []
    made.rows["task"] = [row for row in made.rows["task"] if row["correlation"] not in (3, 4)]
    made.rows["api"] = [row for row in made.rows["api"] if row["correlation"] not in (3, 4)]
    (finding,) = said(made, "capture-incomplete")
    assert finding.facts["steps"] == "3"


class TestClocks:
    """Twenty launches of 5, each kernel 10 behind the beginning of its launch, or before it."""

    @staticmethod
    def run(early: float, count: int = 20) -> Made:
        made = Made()
        made.meta["simulated"] = False
        for number in range(20):
            begin = 1000.0 + 100 * number
            made.api("launch", begin, begin + 5, level="node", correlation=number)
            start = begin - early if number < count else begin + 10
            made.task("kernel", start, start + 20, correlation=number, op_type="Add", name=f"Add_{number}")
        return made

    def test_positive(self) -> None:
        (finding,) = said(self.run(300), "capture-incomplete")
        assert (finding.id, finding.severity, finding.gain) == ("capture-clock", "warning", None)
        # Kernels end at 2620; those launched behind that are not of the window.
        assert (finding.facts["count"], finding.facts["kernels"]) == (17, 17)
        assert (finding.facts["median_ns"], finding.facts["longest_ns"]) == (300_000, 300_000)

    def test_near_miss_as_far_as_real_clocks_err(self) -> None:
        assert ids(self.run(25)) == []
        assert ids(self.run(25.1)) == ["capture-clock"]

    def test_near_miss_one_in_twenty(self) -> None:
        assert ids(self.run(300, count=1)) == []
        assert ids(self.run(300, count=3)) == ["capture-clock"]

    def test_clean(self) -> None:
        assert ids(self.run(-10)) == []
