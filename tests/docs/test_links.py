"""Links lead somewhere, the index is complete, the README is short, and the words are plain."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import PROJECT, all_pages, anchors_of, links_of, name_of, prose_of, text_of

README_LINES = 150
DIALECT = re.compile(r"foretell|foretold|\banew\b|\bdearer\b|\blest\b|by lot", flags=re.IGNORECASE)


@pytest.mark.parametrize("page", all_pages(), ids=name_of)
def test_links_lead_somewhere(page: Path):
    broken = []
    for link in links_of(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            broken.append(f"{link}: no such file")
        elif anchor and target.suffix == ".md" and anchor not in anchors_of(target):
            broken.append(f"{link}: no such heading; there are {sorted(anchors_of(target))}")
    assert not broken


def test_the_index_lists_every_page():
    """Decisions and research have a list of their own, to which the index leads."""
    docs = PROJECT / "docs"
    listed = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in (docs / "index.md", docs / "decisions" / "README.md", docs / "research" / "README.md")
        for link in links_of(page)
    }
    missing = [name_of(page) for page in docs.rglob("*.md") if page.resolve() not in listed and page.name != "index.md"]
    assert not missing


def test_the_readme_is_short():
    lines = text_of(PROJECT / "README.md").count("\n")
    assert lines <= README_LINES, f"README.md has {lines} lines"


def test_the_readme_leads_to_the_architecture():
    """Two clicks from the README to the line that decides: the page on architecture links to every module it names."""
    assert "docs/explanation/architecture.md" in links_of(PROJECT / "README.md")


@pytest.mark.parametrize("page", [page for page in all_pages() if page.name != "CHANGELOG.md"], ids=name_of)
def test_the_words_are_plain(page: Path):
    found = [
        (text.count("\n", 0, one.start()) + 1, one[0]) for text in [text_of(page)] for one in DIALECT.finditer(text)
    ]
    assert not found


@pytest.mark.parametrize("page", all_pages(), ids=name_of)
def test_tables_are_whole(page: Path):
    """Every row of a table has as many cells as its header, or it is not shown."""
    wrong, cells = [], None
    for line in prose_of(page).splitlines():
        if not line.startswith("|"):
            cells = None
            continue
        here = len(re.findall(r"(?<!\\)\|", line))
        cells = here if cells is None else cells
        if here != cells:
            wrong.append(line)
    assert not wrong
