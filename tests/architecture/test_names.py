"""One word for one thing: no name is used twice, modules say why they exist, and the language is plain."""

import ast
import re
from collections import defaultdict

from tests.architecture.source import PROJECT, modules

APP = modules("app")
SAME_IN_EVERY_FOLDER = {"__init__", "base", "routes", "schemas"}
DIALECT = re.compile(r"foretell|foretold|\banew\b|\bdearer\b|\blest\b|by lot", re.IGNORECASE)
TEXTS = [
    PROJECT / "README.md",
    *sorted((PROJECT / "docs").rglob("*.md")),
    *sorted(path for path in (PROJECT / "app").rglob("*") if path.suffix in {".py", ".html", ".js", ".css", ".txt"}),
    *(module.path for folder in ("bench", "migrations") for module in modules(folder)),
    *(module.path for module in modules("tests") if "DIALECT" not in module.path.read_text()),
]


def test_there_is_something_to_check():
    assert len(APP) > 100
    assert len(TEXTS) > len(APP) + 10


def test_no_class_name_is_defined_twice():
    homes = defaultdict(list)
    for module in APP:
        for name in module.classes:
            homes[name].append(module.name)
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_no_module_name_is_used_twice():
    homes = defaultdict(list)
    for module in APP:
        if module.path.stem not in SAME_IN_EVERY_FOLDER:
            homes[module.path.stem].append(module.name)
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_every_module_opens_with_a_docstring():
    assert [module.name for module in APP if not ast.get_docstring(module.tree)] == []


def test_the_language_is_plain():
    """Words that have a usual one; a quotation stands in a line that begins with `>`."""
    found = {
        str(path.relative_to(PROJECT)): dialect
        for path in TEXTS
        if (dialect := [line for line in path.read_text().splitlines() if is_dialect(line)])
    }
    assert found == {}


def is_dialect(line: str) -> bool:
    """Whether the line has such a word, also as a part of a name; a quotation does not count."""
    return line[:1] != ">" and DIALECT.search(line.replace("_", " ")) is not None
