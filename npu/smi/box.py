"""The strokes all tables of the device tool are drawn with."""

from __future__ import annotations

from collections.abc import Sequence


def rule(cells: Sequence[int], stroke: str) -> str:
    """A line of '-' or '=' with '+' at the borders of cells of these widths."""
    return "+" + "+".join(stroke * width for width in cells) + "+\n"


def row(cells: Sequence[int], texts: Sequence[str]) -> str:
    """One blank, the text, blanks to the width; a text that is too long is printed whole, as printf does."""
    return "|" + "|".join(f" {text}".ljust(width) for width, text in zip(cells, texts, strict=True)) + "|\n"


def columns(widths: Sequence[int], texts: Sequence[str]) -> str:
    """Left-aligned fields side by side inside a cell."""
    return "".join(text.ljust(width) for width, text in zip(widths, texts, strict=True))


def pair(used: str, total: str, width: int = 5) -> str:
    """'3339 / 65536', '29871/ 32768': five digits touch the slash."""
    return f"{used.ljust(width)}/ {total}"
