"""The pages of the documentation, and what stands in them: fenced blocks, links and headings."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).parent.parent.parent
ROOT_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
SHOWN = "json"  # a block of this language shows what the block before it printed

_FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", flags=re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line on which it begins."""

    language: str
    text: str
    line: int


@cache
def all_pages() -> tuple[Path, ...]:
    return (*(PROJECT / name for name in ROOT_PAGES), *sorted((PROJECT / "docs").rglob("*.md")))


def name_of(page: Path) -> str:
    return page.relative_to(PROJECT).as_posix()


@cache
def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks_of(page: Path) -> list[Block]:
    text = text_of(page)
    return [
        Block(found[1].strip(), found[2], text.count("\n", 0, found.start()) + 1) for found in _FENCE.finditer(text)
    ]


def prose_of(page: Path) -> str:
    """The page without its blocks."""
    return _FENCE.sub("", text_of(page))


def links_of(page: Path) -> list[str]:
    return [
        target for target in _LINK.findall(prose_of(page)) if "://" not in target and not target.startswith("mailto:")
    ]


def anchors_of(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    anchors: set[str] = set()
    for heading in _HEADING.findall(prose_of(page)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        anchors.add(anchor)
    return anchors


def table_of(page: Path, heading: str) -> list[list[str]]:
    """The rows of the first table under a heading, without its header."""
    section = f"\n{text_of(page)}".split(f"\n{heading}\n", 1)[1]
    section = re.split(r"\n#{1,6} ", section, maxsplit=1)[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows[2:]]
