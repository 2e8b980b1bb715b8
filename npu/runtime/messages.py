"""The sentence for a refusal: both codes and the distinct cause, so that a log alone leads back to it."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

from npu.errors import NpuError, both


@cache
def templates() -> dict[str, str]:
    """Situation -> sentence with its facts in braces."""
    return tomllib.loads(resources.files("npu").joinpath("data/messages.toml").read_text(encoding="utf-8"))


class _Facts(dict[str, object]):
    def __missing__(self, key: str) -> str:
        return "?"


def sentence(error: NpuError) -> str:
    """What happened, in one sentence with its facts."""
    facts = {k: hex(v) if isinstance(v, int) and k in ("pointer", "dst", "src", "handle") else v for k, v in error.facts.items()}
    told = ", ".join(f"{k} {v}" for k, v in facts.items()) or "no further facts"
    template = templates().get(error.situation, "{facts}")
    return template.format_map(_Facts(facts, facts=told))


def message(call: str, error: NpuError) -> str:
    """The recent error message of a failed call: call, code returned, the public header's code where it differs, cause."""
    article, header = both(error.situation)
    code = error.code
    other = header if code == article else article
    known = f"{code}" if article == header else f"{code} ({'public header' if code == article else 'articles'}: {other})"
    return f"{call} failed, error code {known}, cause {error.situation}: {sentence(error)}"
