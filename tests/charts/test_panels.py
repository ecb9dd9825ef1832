"""Panels show all curves that they are given."""

from xml.etree import ElementTree as ET

import pytest

from app.charts.canvas import COLOURS
from app.charts.panels import render_panels
from app.experiments.experiment import FigureLine, Panel


@pytest.mark.parametrize("count", [1, 3, 4])
def test_every_panel_and_every_curve_is_named(count):
    lines = (FigureLine.through("rising", [1, 2], [1, 2], [0.1, 0.2]), FigureLine.through("falling", [1, 2], [2, 1]))
    panels = [Panel(f"Panel {number}", "labels", "error", lines, log_y=number == 2) for number in range(count)]
    root = ET.fromstring(render_panels(panels))  # noqa: S314  our own chart
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert [text for text in texts if text and text.startswith("Panel")] == [panel.title for panel in panels]
    assert texts.count("rising") == texts.count("falling") == count


def test_points_with_names_are_not_joined():
    """Requirements have no order, so a line through them would mean nothing."""
    points = FigureLine("ours", [3, 1, 2], [0.1, 0.3, 0.2], marks=["c4", "m3", "p0.2"])
    root = ET.fromstring(render_panels([Panel("Requirements", "labels", "error", (points,))]))  # noqa: S314  our own chart
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"c4", "m3", "p0.2"} <= {*texts}
    assert _longest_path(root, COLOURS[0]) == 0


def test_an_error_of_zero_is_left_out_on_a_logarithmic_axis():
    line = FigureLine("index", [1, 2, 3, 4], [0.1, 0.01, 0.001, 0.0])
    root = ET.fromstring(render_panels([Panel("Whom to ask", "labels", "error", (line,), log_y=True)]))  # noqa: S314
    assert _longest_path(root, COLOURS[0]) == 3


def _longest_path(root, colour):
    """The number of points of the longest line of this colour, without markers."""
    svg = "{http://www.w3.org/2000/svg}"
    marker = {path for definitions in root.iter(f"{svg}defs") for path in definitions.iter(f"{svg}path")}
    lines = [path for path in root.iter(f"{svg}path") if path not in marker]
    own = [path.get("d") for path in lines if f"fill: none; stroke: {colour.lower()}" in path.get("style", "")]
    return max((each.count("M") + each.count("L") for each in own), default=0)
