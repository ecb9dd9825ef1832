"""Panels hold what they are given, however many there are."""

from xml.etree import ElementTree as ET

import pytest

from app.lab.experiments.finding import Line, Panel
from app.plots.canvas import COLOURS
from app.plots.panels import in_rows


@pytest.mark.parametrize("count", [1, 3, 4])
def test_every_panel_and_every_curve_is_named(count):
    lines = (Line.through("rising", [1, 2], [1, 2], [0.1, 0.2]), Line.through("falling", [1, 2], [2, 1]))
    panels = [Panel(f"Panel {number}", "labels", "error", lines, log_y=number == 2) for number in range(count)]
    root = ET.fromstring(in_rows(panels))  # noqa: S314  our own picture
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert [text for text in texts if text and text.startswith("Panel")] == [panel.title for panel in panels]
    assert texts.count("rising") == texts.count("falling") == count


def test_points_with_names_are_not_joined():
    """Requirements have no order, and a line through them would be a scribble."""
    points = Line("ours", [3, 1, 2], [0.1, 0.3, 0.2], marks=["c4", "m3", "p0.2"])
    root = ET.fromstring(in_rows([Panel("Requirements", "labels", "error", (points,))]))  # noqa: S314  our own picture
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"c4", "m3", "p0.2"} <= {*texts}
    assert _longest_path(root, COLOURS[0]) == 0


def test_no_error_at_all_is_left_out_where_the_scale_has_no_zero():
    line = Line("index", [1, 2, 3, 4], [0.1, 0.01, 0.001, 0.0])
    root = ET.fromstring(in_rows([Panel("Whom to ask", "labels", "error", (line,), log_y=True)]))  # noqa: S314
    assert _longest_path(root, COLOURS[0]) == 3


def _longest_path(root, colour):
    """Of how many points the longest line of this colour is, markers left out."""
    svg = "{http://www.w3.org/2000/svg}"
    marker = {path for definitions in root.iter(f"{svg}defs") for path in definitions.iter(f"{svg}path")}
    lines = [path for path in root.iter(f"{svg}path") if path not in marker]
    own = [path.get("d") for path in lines if f"fill: none; stroke: {colour.lower()}" in path.get("style", "")]
    return max((each.count("M") + each.count("L") for each in own), default=0)
