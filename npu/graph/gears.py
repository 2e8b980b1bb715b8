"""Models of several fixed shapes: --dynamic_batch_size, --dynamic_image_size and --dynamic_dims as lists of shapes.

Each value set is a gear. A gear fixes every open dim (-1) of --input_shape; the model is planned once per gear.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from npu.graph.errors import AtcError

BATCH, IMAGE, DIMS = "dynamic_batch_size", "dynamic_image_size", "dynamic_dims"
FEWEST, MOST = 2, 100
PLANES = {"NCHW": (2, 3)}
Shapes = Mapping[str, tuple[int, ...]]
Gear = dict[str, tuple[int, ...]]


def chosen(flags: Mapping[str, str]) -> str:
    """Which of the three options is given, "" for none. AtcError E10009 for more than one, or one beside --input_shape_range."""
    given = [n for n in (BATCH, IMAGE, DIMS) if flags.get(n)]
    if len(given) > 1 or (given and flags.get("input_shape_range")):
        raise AtcError("E10009")
    return given[0] if given else ""


def gears(option: str, text: str, shapes: Shapes, input_format: str) -> list[Gear]:
    """The gears of an option. AtcError names what is wrong with its value or with --input_shape."""
    values = _values(option, text)
    _count(values)
    opened = [(name, axis) for name, dims in shapes.items() for axis, d in enumerate(dims) if d < 0]
    if not opened:
        raise AtcError({BATCH: "E10031", IMAGE: "E10012", DIMS: "E10040"}[option], parameter=option)
    if option == BATCH:
        if any(axis != 0 for _, axis in opened):
            raise AtcError("E10018", shape=_text(shapes), parameter=option)
        return [{n: (v[0], *shapes[n][1:]) for n, _ in opened} for v in values]
    if option == IMAGE:
        planes = PLANES.get(input_format)
        for name in {n for n, _ in opened}:
            if planes is None or [a for n, a in opened if n == name] != list(planes):
                raise AtcError("E10019", shape=_text(shapes), parameter=option)
        return [{n: (*shapes[n][:2], *v) for n in {n for n, _ in opened}} for v in values]
    if len(values[0]) != len(opened):
        raise AtcError("E10037", parameter=option, size=len(values[0]), wanted=len(opened))
    return [_filled(shapes, opened, v) for v in values]


def _filled(shapes: Shapes, opened: Sequence[tuple[str, int]], values: Sequence[int]) -> Gear:
    made = {n: list(shapes[n]) for n, _ in opened}
    for (name, axis), value in zip(opened, values, strict=True):
        made[name][axis] = value
    return {n: tuple(d) for n, d in made.items()}


def _values(option: str, text: str) -> list[tuple[int, ...]]:
    words = [w.split(",") for w in (text.split(",") if option == BATCH else text.strip(";").split(";"))]
    for word in (w.strip() for group in words for w in group):
        if not re.fullmatch(r"[+-]?\d+", word):
            raise AtcError("E10003", value=text, parameter=option, reason=f"{word or 'an empty entry'} is not a whole number")
        if int(word) <= 0:
            raise AtcError("E10038", parameter=option, value=word)
    values = [tuple(int(w) for w in group) for group in words]
    lengths = {len(v) for v in values}
    if len(lengths) > 1 or (option == IMAGE and lengths != {2}):
        raise AtcError("E10037", parameter=option, size=sorted(lengths), wanted=2 if option == IMAGE else len(values[0]))
    return values


def _count(values: Sequence[tuple[int, ...]]) -> None:
    if len(values) < FEWEST:
        raise AtcError("E10035", size=len(values), least=FEWEST)
    if len(values) > MOST:
        raise AtcError("E10036", size=len(values), most=MOST)
    again = next((v for at, v in enumerate(values) if v in values[:at]), None)
    if again is not None:
        raise AtcError("E10039", value=",".join(map(str, again)))


def _text(shapes: Shapes) -> str:
    return ";".join(f"{n}:{','.join(map(str, d))}" for n, d in shapes.items())
