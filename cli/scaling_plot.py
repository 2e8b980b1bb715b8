"""The scaling table as a chart: step time and efficiency over the number of ranks, one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from npu.hccl.scaling import Point


def write(points: Sequence[Point], output: str) -> Path:
    """The path written. OSError when it cannot be."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    ranks = [p.ranks for p in points]
    figure = make_subplots(specs=[[{"secondary_y": True}]])
    lines = (("step", [p.step / 1e6 for p in points]), ("without overlap", [p.alone / 1e6 for p in points]),
             ("exchange", [p.exchange / 1e6 for p in points]))  # fmt: skip
    for name, values in lines:
        figure.add_trace(go.Scatter(x=ranks, y=values, name=f"{name} (ms)", mode="lines+markers"))
    figure.add_trace(
        go.Scatter(x=ranks, y=[p.efficiency for p in points], name="efficiency", line={"dash": "dot"}), secondary_y=True
    )
    figure.update_xaxes(type="log", title="ranks")
    figure.update_yaxes(title="ms", secondary_y=False)
    figure.update_yaxes(title="efficiency", range=[0, 1.05], secondary_y=True)
    path = Path(output)
    figure.write_html(path, include_plotlyjs=True)
    return path
