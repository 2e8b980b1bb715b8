"""An application: acl symbols it needs and the runtime does not export."""

from __future__ import annotations

from collections.abc import Iterator

from diag.checks import facts
from diag.seen import Seen
from diag.verdict import ERROR, Verdict

MOST = 5


def symbols(seen: Seen) -> Iterator[Verdict]:
    """Symbols the application wants and the libraries in use do not have."""
    missing = [one.what for one in seen.loading if one.kind == "symbol"]
    if seen.app and missing:
        names = ", ".join(missing[:MOST]) + (f" and {len(missing) - MOST} more" if len(missing) > MOST else "")
        runtime = facts.loaded_runtime(seen) or "?"
        yield Verdict(
            "app_newer_than_runtime",
            ERROR,
            {"app": seen.app, "names": names, "count": len(missing), "cann": runtime},
            (seen.app,),
        )
