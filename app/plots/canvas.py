"""Draw with matplotlib, in one look."""

from collections.abc import Callable
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Paint: TypeAlias = Callable[["Figure"], None]
Format: TypeAlias = Literal["svg", "png"]

# Told apart also by those who see red and green alike (Okabe and Ito, 2008).
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
    "svg.fonttype": "none",  # text stays text: small, sharp, and found by a search
    "svg.hashsalt": "suffice",  # the same picture is the same bytes
}

_ONE_AT_A_TIME = Lock()  # matplotlib's settings are global


def drawn(paint: Paint, *, form: Format = "svg", width: float = 7.5, height: float = 4.5) -> bytes:
    """The picture that `paint` puts on an empty figure, so many inches large."""
    # Loaded when the first picture is wanted: most of those who start the service never want one.
    from cycler import cycler  # noqa: PLC0415
    from matplotlib import rc_context  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    with _ONE_AT_A_TIME, rc_context({**_STYLE, "axes.prop_cycle": cycler(color=COLOURS)}):
        figure = Figure(figsize=(width, height))
        paint(figure)
        picture = BytesIO()
        undated = {"Date": None} if form == "svg" else {}
        figure.savefig(picture, format=form, metadata=undated, dpi=150)
    return picture.getvalue()
