"""What the process tables of all layouts share."""

from __future__ import annotations

from npu.smi.box import row

MOST_PROCESSES = 8  # listed a chip; the tool leaves the others out without a word


def nobody(inner: int, card: int) -> str:
    """The row of a card without processes."""
    return row((inner,), (f"No running processes found in NPU {card}",))


def shown_name(name: str) -> str:
    """As the tool reads it from the status file: without colons and tabs ('sglang::schedul' -> 'sglangschedul').

    Characters that would break the table or the terminal are shown as '?'.
    """
    return "".join(letter if letter.isprintable() else "?" for letter in name if letter not in ":\t")
