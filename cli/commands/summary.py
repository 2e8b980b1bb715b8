"""The summary that ends a run: the analysis on stderr and the next useful commands."""

from __future__ import annotations

import sys
from pathlib import Path

from profiler.trace import Trace


def summarize(trace: Trace, prof: Path) -> None:
    """Print findings and next commands on stderr."""
    from rich.console import Console

    from cli.common import language
    from profiler.analysis import analyze
    from profiler.report.terminal import print_report

    console = Console(stderr=True, highlight=False)
    print_report(analyze(trace), console, language())
    print(
        f"  msprof timeline {prof} --open    look at it\n  msprof analyze {prof} --json    the same for scripts", file=sys.stderr
    )
