"""The source files of the project, parsed, for tests of their names and places."""

import ast
from dataclasses import dataclass
from pathlib import Path

from propcache.api import cached_property

PROJECT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Module:
    """One Python file, named by its path in the project."""

    path: Path

    @property
    def name(self) -> str:
        return str(self.path.relative_to(PROJECT))

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text(), filename=self.name)

    @property
    def classes(self) -> list[str]:
        """The names of its classes, those inside functions left out."""
        return [node.name for node in self.tree.body if isinstance(node, ast.ClassDef)]

    @property
    def imports(self) -> set[str]:
        """The dotted names that it imports, each with and without what it takes from the module."""
        found = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        return found


def modules(folder: str) -> list[Module]:
    """Return every Python file below a folder of the project."""
    return [Module(path) for path in sorted((PROJECT / folder).rglob("*.py"))]
