"""Charts are valid SVG or PNG, the same each time, with searchable text."""

from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree as ET

from app.charts.canvas import render_chart


def _line(figure):
    axes = figure.subplots()
    axes.plot([1, 2, 3], [1, 4, 9], label="squares")
    axes.set_title("A title to be found")
    axes.legend()


def test_svg_is_xml_that_keeps_its_text():
    root = ET.fromstring(render_chart(_line))  # noqa: S314  our own chart
    texts = {each.text for each in root.iter("{http://www.w3.org/2000/svg}text")}
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert {"A title to be found", "squares"} <= texts


def test_png_is_a_png():
    assert render_chart(_line, form="png").startswith(b"\x89PNG")


def test_the_same_chart_gives_the_same_bytes_in_threads_too():
    with ThreadPoolExecutor(4) as pool:
        charts = set(pool.map(lambda _: render_chart(_line), range(8)))
    assert len(charts) == 1
