"""How heavy and how fast the timeline page is: `python bench/timeline.py [events]` (default 1,000,000).

Prints the page's size, the time to write it, the time from opening it in headless Chromium to the first picture, and the time
of one redraw (with the pixels read back, so that the picture is really there) at several zooms. Needs /usr/bin/chromium.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from npu import events
from profiler.report.timeline import write_timeline
from profiler.trace import Columns, Strings, Trace

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
OPERATORS = ("MatMulV2", "Add", "LayerNorm", "SoftmaxV2", "Gelu", "TransData", "Cast", "BatchMatMul", "Mul", "Transpose")
TIMED = "() => {{ const began = performance.now(); {act}; return performance.now() - began; }}"
# Reading a pixel back makes the browser finish the picture.
REDRAW = TIMED.format(act="npuscope.drawNow(); document.getElementById('plane').getContext('2d').getImageData(0, 0, 1, 1)")
SHOW = "p => { const all = npuscope.facts.latest; npuscope.show(all * (0.5 - p / 2), all * (0.5 + p / 2)); }"


def made(rows: int) -> Trace:
    """A trace of so many events: four fifths tasks on eight streams, one fifth calls of two threads, some nested."""
    random, strings = np.random.default_rng(7), Strings()
    tasks, calls = rows - rows // 5, rows // 5
    stream = np.arange(tasks) % 8
    length = random.gamma(2.0, 6_000, tasks).astype(np.int64) + 800
    start, end = np.zeros(tasks, np.int64), np.zeros(tasks, np.int64)
    for number in range(8):
        mine = stream == number
        gap = random.gamma(1.2, 2_000, int(mine.sum())).astype(np.int64) + 500
        end[mine] = np.cumsum(length[mine] + gap)
        start[mine] = end[mine] - length[mine]
    layer = np.arange(tasks) // 8 % 120
    operator = strings.ids(OPERATORS)
    name = strings.ids(f"{OPERATORS[n % 10]}_{n}" for n in range(120))
    shape = strings.ids(f'"{16 << n},128,768;768,768"' for n in range(4))
    ids = np.arange(tasks, dtype=np.int64)
    task = Columns(
        {
            "start": start,
            "end": end,
            "device": np.zeros(tasks, np.int32),
            "stream": stream.astype(np.int32),
            "task_id": ids % 65_536,
            "kind": np.full(tasks, events.KINDS.index("kernel"), np.int8),
            "name": name[layer],
            "op_type": operator[layer % 10],
            "correlation": ids,
            "in_shapes": shape[layer % 4],
            "block_dim": (layer % 20 + 1).astype(np.int32),
            "aic_mac_ratio": random.random(tasks).round(3),
        }
    )
    begin = np.cumsum(random.gamma(2.0, 2_000, calls).astype(np.int64) + 4_000)
    inner = np.arange(calls) % 3 == 1
    begin[inner] = begin[np.flatnonzero(inner) - 1] + 300
    call = strings.ids(("aclnnMatmul", "rtKernelLaunch", "aclrtMemcpyAsync", "aclrtSynchronizeStream"))
    api = Columns(
        {
            "start": begin,
            "end": begin + np.where(inner, 1_500, 3_500),
            "thread": (np.arange(calls) // 30 % 2).astype(np.int32),
            "level": np.zeros(calls, np.int8),
            "name": call[np.arange(calls) % 4],
            "correlation": np.arange(calls, dtype=np.int64) * 4,
        }
    )
    return Trace(Path("bench"), strings=strings, task=task, api=api, meta={"soc": "Ascend910B3", "simulated": True})


def main(rows: int) -> None:
    from playwright.sync_api import sync_playwright

    trace = made(rows)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        page_file = write_timeline(trace, None, Path(folder) / "timeline.html", lambda _: ("", ""))
        print(f"events {rows:,}")
        print(f"write {time.perf_counter() - began:.2f} s")
        print(f"size {page_file.stat().st_size / 1e6:.2f} MB")
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(page_file.as_uri())
            page.wait_for_function("document.documentElement.dataset.ready", timeout=120_000)
            print(f"first render {int(page.evaluate('document.documentElement.dataset.ready')) / 1000:.2f} s")
            for part in (1.0, 0.3, 0.05, 0.005, 0.0002):
                page.evaluate(SHOW, part)
                times = [page.evaluate(REDRAW) for _ in range(9)]
                print(f"redraw of {part:.2%} of the time: median {statistics.median(times):.1f} ms, worst {max(times):.1f} ms")
            page.evaluate(SHOW, 1.0)
            statistic = page.evaluate(TIMED.format(act="npuscope.statistics(0, npuscope.facts.latest)"))
            search = page.evaluate(TIMED.format(act="npuscope.search('a')"))
            print(f"statistics of everything {statistic:.0f} ms, search that finds nearly everything {search:.0f} ms")
            print(f"redraw with all of that marked: {page.evaluate(REDRAW):.1f} ms")
            browser.close()


if __name__ == "__main__":
    main(int(sys.argv[1].replace(",", "")) if len(sys.argv) > 1 else 1_000_000)
