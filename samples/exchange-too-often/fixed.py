"""The same gradients in one bucket: one collective a step."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from rank import RANK, Exchange

LAYERS, COUNT = 40, 8 * 1024  # 32 KiB each, one after the other in the bucket
exchange = Exchange()
bucket = exchange.buffer(LAYERS * COUNT)
weights = exchange.buffer(8 * LAYERS * COUNT)  # of which most have no gradient here
exchange.spread(weights, 8 * LAYERS * COUNT)
exchange.wait()
begun = time.perf_counter()
for _ in range(int(sys.argv[1])):
    time.sleep(0.002)  # forward and backward pass
    exchange.add_up(bucket, LAYERS * COUNT)
    exchange.wait()
if RANK == 0:
    print(f"{1000 * (time.perf_counter() - begun) / int(sys.argv[1]):.2f} ms a step")
exchange.close()
