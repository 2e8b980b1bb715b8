"""The plan trusts the data sheet: 32 MiB at seven links of 28 GB/s should hide behind 1 ms of computation. They do not."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from rank import RANK, WORLD, Exchange

COUNT, COMPUTE = 8 << 20, 0.001  # floats, s a step
LINKS, NOMINAL = WORLD - 1, 28e9  # bytes a second each, of the data sheet
exchange = Exchange()
gradient = exchange.buffer(COUNT)
planned = 2 * (WORLD - 1) / WORLD * 4 * COUNT / (LINKS * NOMINAL)
every = 1 if planned < COMPUTE else 2
begun = time.perf_counter()
for step in range(int(sys.argv[1])):
    time.sleep(COMPUTE)
    if (step + 1) % every == 0:
        exchange.wait()  # for the one before, which should be over by now
        exchange.add_up(gradient, COUNT)
exchange.wait()
spent = (time.perf_counter() - begun) / int(sys.argv[1])
if RANK == 0:
    print(f"{1000 * spent:.2f} ms a step; exchange planned {1000 * planned:.2f} ms, every {every} steps")
exchange.close()
