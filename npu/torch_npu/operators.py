"""The operators of torch as profiles of the device show them: host interface, kernels, and what kind of work each is.

npu/data/torch_ops.csv has one row an operator: its name without namespace, overload and trailing underscore; a name with
".scalar", ".dim" or ".eval" is the form of it with a host number, along one axis, or with fixed statistics. `kernels` are
types in launch order, joined by "+" (empty: form none, the device has nothing to do); "inner:Type" where the kernel's name
holds another word than the type with AiCore behind it. `source` says whether public profiles show these names.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import NamedTuple

FORMS = ("vector", "row", "pool", "layout", "fill", "matmul", "conv", "conv_backward", "attention", "attention_backward",
         "grouped", "foreach", "fused", "recurrent", "aicpu", "none")  # fmt: skip


class Part(NamedTuple):
    """One kernel of an operator: the word inside its name, and its type."""

    inner: str
    type: str


class Operator(NamedTuple):
    """api: "" where the operator goes the older compile path (kernels named by type and number). listed: False for one the table
    does not have, which runs as a plain vector kernel. window: values that one result of a pooling is made of, 0 for as many
    as there are inputs to a result."""

    name: str
    api: str
    parts: tuple[Part, ...]
    form: str
    listed: bool = True
    window: int = 0


@cache
def table() -> dict[str, Operator]:
    """All rows by name."""
    text = resources.files("npu").joinpath("data/torch_ops.csv").read_text(encoding="utf-8")
    return {
        row["op"]: Operator(row["op"], row["api"], tuple(map(_part, filter(None, row["kernels"].split("+")))), row["form"])
        for row in csv.DictReader(text.splitlines())
    }


def _part(text: str) -> Part:
    inner, colon, kind = text.rpartition(":")
    return Part(inner if colon else f"{kind}AiCore", kind)


def base(name: str) -> str:
    """ "aten::add_.Scalar" -> "add": names of Python's own in-place methods lose their underscore, "__and__" stays."""
    plain = name.rpartition("::")[2].partition(".")[0]
    return plain[:-1] if plain.endswith("_") and not plain.endswith("__") else plain


def camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


@cache
def find(name: str, variant: str = "") -> Operator:
    """The operator of a torch name in a variant ("" plain); one that the table does not list is made up by the naming rule."""
    plain = base(name)
    rows = table()
    found = rows.get(f"{plain}.{variant}") if variant else None
    found = found or rows.get(plain)
    if found is not None:
        return found
    word = camel(plain)
    return Operator(plain, f"aclnn{word}", (Part(f"{word}AiCore", word),), "vector", listed=False)


def api_name(operator: Operator, in_place: bool) -> str:
    """The host interface as the call shows it: in-place forms of single operators have names of their own."""
    api = operator.api or f"aclop{operator.parts[-1].type}"
    if in_place and operator.form in ("vector", "layout") and api.startswith("aclnn") and "Inplace" not in api:
        return f"aclnnInplace{api[5:]}"
    return api
