"""The pipeline of a core as text: one line an engine, time to the right, over the first tiles."""

from __future__ import annotations

from npu.tbe.predict import Prediction

TILES = 4  # shown
ENGINES = ("MTE2", "VEC", "MTE3")


def picture(made: Prediction, width: int = 72) -> str:
    """Digits are tiles; a dot is an engine that waits. Below it how often the tile is repeated, and what takes longest."""
    spans = _spans(made)
    end = max(stop for row in spans for _, stop in row)
    scale = width / end if end > 0 else 0.0
    lines = []
    for engine, row in zip(ENGINES, spans, strict=True):
        cells = ["."] * width
        for number, (start, stop) in enumerate(row):
            for i in range(int(start * scale), max(int(start * scale) + 1, round(stop * scale))):
                cells[min(i, width - 1)] = str(number + 1)
        lines.append(f"{engine:<5}{''.join(cells)}")
    loop = made.loop
    longest = max(("MTE2", loop.mte2), ("VEC", loop.compute), ("MTE3", loop.mte3), key=lambda pair: pair[1])
    buffers = "two buffers" if made.doubled else "one buffer"
    lines.append(
        f"{made.loops} tiles on each of {made.cores} cores, {buffers}: MTE2 {loop.mte2:.3f}, VEC {loop.compute:.3f}, "
        f"MTE3 {loop.mte3:.3f} us a tile, {longest[0]} longest; {made.us:.2f} us"
    )
    return "\n".join(lines)


def _spans(made: Prediction) -> list[list[tuple[float, float]]]:
    """Start and end of every tile shown, by engine. With two buffers a tile is fetched once the one before the last is done."""
    steps = made.loop.mte2, made.loop.compute, made.loop.mte3
    rows: list[list[tuple[float, float]]] = [[], [], []]
    free = [0.0, 0.0, 0.0]
    ends: list[float] = []
    for number in range(min(TILES, made.loops)):
        behind = 2 if made.doubled else 1
        ready = ends[number - behind] if number >= behind else 0.0
        for engine, step in enumerate(steps):
            start = max(ready, free[engine])
            ready = free[engine] = start + step
            rows[engine].append((start, ready))
        ends.append(ready)
    return rows
