"""Rank 2 prepares twice as many samples as the others: all wait for it in every exchange."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from rank import RANK, Exchange

COUNT = 1 << 20
SAMPLES = {2: 16}  # of 40 in all; the others have 8
exchange = Exchange()
gradient = exchange.buffer(COUNT)
begun = time.perf_counter()
for _ in range(int(sys.argv[1])):
    time.sleep(0.0005 * SAMPLES.get(RANK, 8))
    exchange.add_up(gradient, COUNT)
    exchange.wait()
if RANK == 0:
    print(f"{1000 * (time.perf_counter() - begun) / int(sys.argv[1]):.2f} ms a step")
exchange.close()
