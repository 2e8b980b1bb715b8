"""Story: an operator of one's own, strided -> contiguous -> vectorised -> double-buffered."""

import re
from pathlib import Path

SAMPLE = Path(__file__).parents[2] / "samples" / "own-operator" / "main.py"


def test_each_step_shows_in_the_counters(start):
    ran = start("python", str(SAMPLE))
    assert ran.code == 0, ran.err
    rows = {}
    for name, us, parts in re.findall(r"^(\S+) +([\d.]+) us   busy us: (.*)$", ran.out, re.M):
        rows[name] = float(us), {k: float(v) for k, v in (p.split() for p in parts.split(", "))}
    times = {n: us for n, (us, _) in rows.items()}
    units = {n: u for n, (_, u) in rows.items()}
    assert times["strided"] > times["contiguous"] > 50 * times["vectorised"] > 50 * times["double-buffered"]
    assert units["strided"]["mte2"] > 5 * units["contiguous"]["mte2"]  # runs of 32 bytes
    assert units["contiguous"]["scalar"] > 0.9 * times["contiguous"] > 0 == units["vectorised"]["scalar"]
    # the same work on every engine: what two buffers gain is that the engines overlap
    assert units["vectorised"]["mte2"] == units["double-buffered"]["mte2"]
    assert times["double-buffered"] < 0.8 * times["vectorised"]
    assert times["auto_schedule"] <= times["double-buffered"]
