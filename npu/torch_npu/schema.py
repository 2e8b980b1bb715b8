"""What an operator's schema says about its arguments and results, worked out once when its kernel is registered."""

from __future__ import annotations

from typing import Any, NamedTuple


class Shape(NamedTuple):
    """tensors, lists: positions of tensor arguments and of lists of them; named: keyword-only ones; fresh: whether it makes
    tensors
    on a device of its choice; written: for each result the position or name of the argument it is, None for a new one; writes:
    positions and names of all arguments that are written."""

    tensors: frozenset[int]
    lists: frozenset[int]
    named: tuple[str, ...]
    fresh: bool
    written: tuple[int | str | None, ...]
    writes: tuple[int | str, ...]


def shape_of(schema: Any) -> Shape:
    """From torch's FunctionSchema."""
    single: set[int] = set()
    many: set[int] = set()
    named: list[str] = []
    writes: dict[str, int | str] = {}
    for number, argument in enumerate(schema.arguments):
        text = str(argument.type)
        if "Tensor" in text:
            if argument.kwarg_only:
                named.append(argument.name)
            else:
                (single if text in ("Tensor", "Optional[Tensor]") else many).add(number)
        if argument.alias_info is not None and argument.alias_info.is_write:
            writes |= dict.fromkeys(argument.alias_info.before_set, argument.name if argument.kwarg_only else number)
    return Shape(
        frozenset(single),
        frozenset(many),
        tuple(named),
        any(a.name == "device" for a in schema.arguments),
        tuple(_source(result, writes) for result in schema.returns),
        tuple(writes.values()),
    )


def _source(result: Any, writes: dict[str, int | str]) -> int | str | None:
    labels = result.alias_info.before_set if result.alias_info is not None else ()
    return next((writes[label] for label in labels if label in writes), None)
