"""Data-parallel training of a small network: each rank takes its part of the batch, gradients are added up at the step's end."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from network import Network, batch
from rank import RANK, WORLD, Exchange

exchange = Exchange()
network = Network()
device = [exchange.buffer(g.size) for g in network.weights]
begun = time.perf_counter()
for step in range(int(sys.argv[1])):
    inputs, wanted = batch(step, RANK, WORLD)
    network.forward(inputs)
    for layer, gradient in network.backward(wanted):
        exchange.put(device[layer], gradient)
    for weight, address in zip(network.weights, device, strict=True):
        exchange.add_up(address, weight.size)
        exchange.wait()
    for weight, address in zip(network.weights, device, strict=True):
        exchange.get(network.gradient[: weight.size], address)
        weight -= network.rate * network.gradient[: weight.size].reshape(weight.shape)
if RANK == 0:
    print(f"loss {network.loss(*batch(0, 0, 1)):.6f}, {1000 * (time.perf_counter() - begun) / int(sys.argv[1]):.2f} ms a step")
exchange.close()
