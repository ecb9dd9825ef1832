"""Pictures are what they say they are, the same each time, and readable as text."""

from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree as ET

from app.plots.canvas import drawn


def _line(figure):
    axes = figure.subplots()
    axes.plot([1, 2, 3], [1, 4, 9], label="squares")
    axes.set_title("A title to be found")
    axes.legend()


def test_svg_is_xml_that_keeps_its_text():
    root = ET.fromstring(drawn(_line))  # noqa: S314  our own picture
    texts = {each.text for each in root.iter("{http://www.w3.org/2000/svg}text")}
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert {"A title to be found", "squares"} <= texts


def test_png_is_a_png():
    assert drawn(_line, form="png").startswith(b"\x89PNG")


def test_the_same_picture_is_the_same_bytes_also_in_threads():
    with ThreadPoolExecutor(4) as pool:
        pictures = set(pool.map(lambda _: drawn(_line), range(8)))
    assert len(pictures) == 1
