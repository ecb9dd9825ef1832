"""Render charts with matplotlib, all in one style."""

from collections.abc import Callable
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Drawing: TypeAlias = Callable[["Figure"], None]
Format: TypeAlias = Literal["svg", "png"]

# People with red-green blindness can distinguish these colours too (Okabe and Ito, 2008).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "figure.constrained_layout.use": True,
    "font.size": 10.0,
    "grid.color": "#dddddd",
    "legend.frameon": False,
    "savefig.facecolor": "white",
    "svg.fonttype": "none",  # text stays text: small, sharp and searchable
    "svg.hashsalt": "suffice",  # the same chart gives the same bytes
}

_LOCK = Lock()  # matplotlib's settings are global


def render_chart(draw: Drawing, *, form: Format = "svg", width: float = 7.5, height: float = 4.5) -> bytes:
    """Let `draw` paint an empty figure of this size, in inches, and return the file's bytes."""
    # Imported here, because most processes never render a chart.
    from cycler import cycler  # noqa: PLC0415
    from matplotlib import rc_context  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    with _LOCK, rc_context({**_STYLE, "axes.prop_cycle": cycler(color=COLOURS)}):
        figure = Figure(figsize=(width, height))
        draw(figure)
        chart = BytesIO()
        undated = {"Date": None} if form == "svg" else {}
        figure.savefig(chart, format=form, metadata=undated, dpi=150)
    return chart.getvalue()
