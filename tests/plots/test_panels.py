"""Panels hold what they are given, however many there are."""

from xml.etree import ElementTree as ET

import pytest

from app.lab.experiments.finding import Line, Panel
from app.plots.panels import in_rows


@pytest.mark.parametrize("count", [1, 3, 4])
def test_every_panel_and_every_curve_is_named(count):
    lines = (Line.through("rising", [1, 2], [1, 2], [0.1, 0.2]), Line.through("falling", [1, 2], [2, 1]))
    panels = [Panel(f"Panel {number}", "labels", "error", lines, log_y=number == 2) for number in range(count)]
    root = ET.fromstring(in_rows(panels))  # noqa: S314  our own picture
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert [text for text in texts if text and text.startswith("Panel")] == [panel.title for panel in panels]
    assert texts.count("rising") == texts.count("falling") == count
