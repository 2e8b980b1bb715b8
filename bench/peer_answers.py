"""What msprof-analyze's advisor and we say of four profiles of known cause: is it named, with a time, and what else is said.

- `PROF`: the msprof files of a recorded sample that waits after every submission and keeps independent feeds on one stream; its
  mended script shows what that costs. Our own tables are taken out: both tools read the same files.
- `PROF, Block Num`: the same under the column name later CANN versions write.
- `text`, `db`: a real training step of rank 0 of 8 that waits for rank 5 (public files of Ascend/msinsight).
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
import peer_process as process

ROOT = Path(__file__).parents[1]
SAMPLE = "sync-after-submit"
ROW = re.compile(r"^\|\s*(\d*)\s*\|([^|]*)\|([^|]*)\|")  # number, type, description of the advisor's table
TIME = re.compile(r"[\d.]+\s*(ms|us)\b")


class Input(NamedTuple):
    """cause: our ids that name it; words: what a text that names it must hold; truth: what is known of it."""

    name: str
    place: Path
    cause: frozenset[str]
    words: re.Pattern[str]
    truth: str


class Answer(NamedTuple):
    """named: items that name the cause; time: how much one of them says; others: further items, each with its time if it has
    one."""

    named: tuple[str, ...]
    time: str
    others: tuple[str, ...]
    seconds: float
    peak_mb: float


WAITS = re.compile(r"synchroni[sz]e|one stream|multiple streams", re.IGNORECASE)
LATE = re.compile(r"slow rank|straggler|rank 5\b", re.IGNORECASE)


def inputs(folder: Path, text: Path, db: Path) -> list[Input]:
    """The four profiles in a scratch folder."""
    done = subprocess.run([sys.executable, str(ROOT / "samples" / "before_after.py"), SAMPLE, "--out", str(folder)], check=True,
                          capture_output=True, text=True)  # fmt: skip
    gained = re.search(r"measured (-?[\d.]+) ms", done.stdout)
    lasts = re.search(r"device work within ([\d.]+) ms", done.stdout)
    if gained is None or lasts is None:
        raise SystemExit(f"the sample did not say what it gained:\n{done.stdout}")
    truth = f"a run of {lasts[1]} ms that waits after every submission, on one stream; the mended script is {gained[1]} ms faster"
    recorded = next((folder / SAMPLE / "main").glob("PROF_*"))
    planted = frozenset({"sync-every-submit", "one-stream"})
    made = []
    for name in ("PROF", "PROF, Block Num"):
        place = folder / name.replace(", ", "-").replace(" ", "-") / recorded.name
        shutil.copytree(recorded, place, ignore=shutil.ignore_patterns("npuscope"))
        if name != "PROF":
            for summary in place.rglob("op_summary_*.csv"):
                head, rest = summary.read_text().split("\n", 1)
                summary.write_text(head.replace("Block Dim", "Block Num") + "\n" + rest)
        made.append(Input(name, place, planted, WAITS, truth))
    for name, source in (("text", text), ("db", db)):
        place = folder / name / "host_1_20250109075805_ascend_pt"
        shutil.copytree(source, place)
        made.append(Input(name, place, frozenset({"late-rank"}), LATE, "waits 98 ms of 137 for rank 5"))
    return made


def advisor(python: Path, given: Input, out: Path) -> Answer:
    """What the advisor's table says."""
    words = [str(python.with_name("msprof-analyze")), "advisor", "all", "-l", "en", "-d", str(given.place)]
    words += ["-o", str(out / "advice")]
    figures = process.command(words, given.place, out / "advice.txt")
    items = list(_items((out / "advice.txt").read_text(encoding="utf-8", errors="replace")))
    named = [i for i in items if given.words.search(" ".join(i))]
    others = [i for i in items if i not in named]
    time = next((m[0] for _, text in named if (m := TIME.search(text))), "")
    further = tuple(f"{name} ({m[0]})" if (m := TIME.search(text)) else name for name, text in others)
    return Answer(tuple(n for n, _ in named), time, further, figures["cpu_s"], figures["peak_mb"])


def _items(table: str) -> Iterator[tuple[str, str]]:
    """(type, description) of each row; a row goes on where the next has no number."""
    name = said = ""
    for line in table.splitlines():
        if found := ROW.match(line):
            if found[1]:
                if name:
                    yield name, said
                name, said = found[2].strip(), ""
            elif name:
                name += found[2].rstrip()
            said += f" {found[3].strip()}"
    if name:
        yield name, said


def ours(given: Input, out: Path) -> Answer:
    """What `msprof analyze` says; findings that another one explains are part of that one."""
    words = [str(Path(sys.executable).with_name("msprof")), "analyze", str(given.place), "--json"]
    figures = process.command(words, given.place, out / "ours.json")
    findings: list[dict[str, Any]] = [f for f in json.loads((out / "ours.json").read_text())["findings"] if not f["cause"]]
    named, others = ([f for f in findings if (f["id"] in given.cause) == want] for want in (True, False))
    time = max((f["gain"]["us"] for f in named if f["gain"]), default=0)
    further = tuple(f"{f['id']} ({f['gain']['us'] / 1000:.2f} ms)" if f["gain"] else f["id"] for f in others)
    said = f"{time / 1000:.2f} ms" if time else ""
    return Answer(tuple(f["id"] for f in named), said, further, figures["cpu_s"], figures["peak_mb"])


def lines(given: Input, found: dict[str, Answer]) -> Iterator[str]:
    """Table rows, one a tool."""
    for tool, answer in found.items():
        named = ", ".join(answer.named) or "no"
        others = f"{len(answer.others)}: {', '.join(answer.others)}" if answer.others else "none"
        cost = f"{answer.seconds:.1f} | {answer.peak_mb:.0f}"
        yield f"| {given.name} | {tool} | {named} | {answer.time or '-'} | {others} | {cost} |"
