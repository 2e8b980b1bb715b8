"""Measure first: a few exchanges of that size, then accumulate over as many steps as one takes."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from math import ceil

from rank import RANK, Exchange

COUNT, COMPUTE = 8 << 20, 0.001  # floats, s a step
exchange = Exchange()
gradient = exchange.buffer(COUNT)
exchange.add_up(gradient, COUNT)
exchange.wait()
before = time.perf_counter()
for _ in range(3):
    exchange.add_up(gradient, COUNT)
exchange.wait()
measured = (time.perf_counter() - before) / 3
every = max(1, ceil(measured / COMPUTE))
begun = time.perf_counter()
for step in range(int(sys.argv[1])):
    time.sleep(COMPUTE)
    if (step + 1) % every == 0:
        exchange.wait()
        exchange.add_up(gradient, COUNT)
exchange.wait()
spent = (time.perf_counter() - begun) / int(sys.argv[1])
if RANK == 0:
    print(f"{1000 * spent:.2f} ms a step; exchange measured {1000 * measured:.2f} ms, every {every} steps")
exchange.close()
