"""What open dims stand for while a model is planned: one size each, within their ranges, so that the inputs fit each other.

Dims of one name in the model have one size. How sizes of different names belong together (past + new = all) no file says, so
where the first choice does not fit, one name after the other takes another size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

SIZE = 32  # of an open dim without a range; at run time the work is scaled to the real shape
OTHERS = (2 * SIZE, 1)  # tried next: a sum of two such dims, and a dim that goes with any other

Shapes = Mapping[str, tuple[int, ...]]
Ranges = Mapping[tuple[str, int], tuple[int, int]]


def samples(shapes: Shapes, ranges: Ranges, graph: Any) -> Iterator[dict[str, tuple[int, ...]]]:
    """Shapes to plan with, the likeliest first. shapes: dims by input, -1 where open; ranges: least and most of some of those;
    graph: the GraphProto, for the names of dims."""
    names = _names(shapes, graph)
    sizes: dict[str, tuple[int, ...]] = {name: (SIZE, *OTHERS) for name in dict.fromkeys(names.values())}
    for place, (least, most) in ranges.items():
        if place in names:
            sizes[names[place]] = (most, least) if most != least else (most,)
    first = {name: choices[0] for name, choices in sizes.items()}

    def filled(chosen: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
        return {n: tuple(chosen[names[n, axis]] if d < 0 else d for axis, d in enumerate(dims)) for n, dims in shapes.items()}

    yield filled(first)
    for name, choices in sizes.items():
        for other in choices[1:]:
            yield filled({**first, name: other})


def _names(shapes: Shapes, graph: Any) -> dict[tuple[str, int], str]:
    """The name of every open dim: the model's own, else one that no other dim has."""
    stated = {v.name: [d.dim_param for d in v.type.tensor_type.shape.dim] for v in graph.input}
    return {
        (n, axis): (stated.get(n, [])[axis : axis + 1] or [""])[0] or f"{n}/{axis}"
        for n, dims in shapes.items()
        for axis, d in enumerate(dims)
        if d < 0
    }
