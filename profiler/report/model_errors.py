"""How far the cost model is off for these kernels, as one sentence: below the terminal report and at the head of the page."""

from __future__ import annotations

from collections.abc import Sequence

from profiler import texts
from profiler.findings import ModelError


def sentence(found: Sequence[ModelError], lang: str) -> str:
    """Families by their share of kernel time, each with its median errors; "" where there are no kernels."""
    if not found:
        return ""
    return texts.label("word", "model_errors", lang).format(
        families=texts.label("word", "model_error_next", lang).join(_family(e, lang) for e in found)
    )


def _family(error: ModelError, lang: str) -> str:
    honest = texts.percent(error.left_out) if error.left_out is not None else texts.label("word", "not_known", lang)
    form = texts.label("word", "model_error", lang)
    name, share = texts.label("family", error.family, lang), texts.percent(error.share)
    return form.format(name=name, share=share, median=texts.percent(error.median), left_out=honest)
