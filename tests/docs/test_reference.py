"""The reference pages say what the code says."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from app.main import create_app
from app.settings import Settings
from tests.docs.pages import PROJECT, table_of, text_of
from tests.docs.reason_codes import problem_codes, reason_codes

DOCS = PROJECT / "docs"
REFERENCE = DOCS / "reference"
CODES = REFERENCE / "reason-codes.md"
OF_THE_PROTOCOL = {"not-found", "method-not-allowed"}
REASON_TABLES = ["## Next", "## Verdicts", "## Warnings", "## Workers", "## Worker model"]


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["policies.md", "constants.md", "command-line.md"])
def test_generated_pages_are_up_to_date(name: str):
    written = text_of(REFERENCE / name)
    assert written == _generator().PAGES[name](), "run: python docs/generate.py"


def test_every_setting_is_in_the_table():
    table = {
        row[0].strip("`"): row[1].strip("`") for row in table_of(REFERENCE / "configuration.md", "# Configuration")
    }
    settings = {
        field.validation_alias or f"SUFFICE_{name.upper()}": field.default
        for name, field in Settings.model_fields.items()
    }
    assert set(table) == set(settings)
    for variable, default in settings.items():
        shown = "none" if default is None else f"{default:g}" if isinstance(default, float) else str(default)
        assert table[variable] == shown, variable


def test_every_operation_is_in_the_overview():
    document = create_app(Settings(database_url="postgresql://nobody@localhost/none", log_level="error")).openapi()
    existing = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    listed = set(re.findall(r"^\| `([A-Z]+ /[^`]*)` \|", text_of(REFERENCE / "api.md"), flags=re.MULTILINE))
    assert listed - existing == set(), "listed, but not there"
    assert existing - listed == set(), "there, but not listed"


def _listed_reasons() -> set[str]:
    plans = text_of(CODES).split("\n## Plans\n")[1].split("\n## ")[0]
    rows = [row[0] for heading in REASON_TABLES for row in table_of(CODES, heading)]
    return {row.strip("`") for row in rows} | set(re.findall(r"^\| `([a-z-]+)` \|", plans, flags=re.MULTILINE))


def test_every_reason_code_is_explained():
    found = reason_codes()
    missing = {code: places for code, places in found.items() if code not in _listed_reasons()}
    assert not missing, "in the code, but not in reason-codes.md"


def test_no_reason_code_is_explained_that_does_not_exist():
    assert _listed_reasons() - set(reason_codes()) == set(), "in reason-codes.md, but not in the code"


def test_every_problem_code_is_explained():
    listed = {row[0].strip("`"): int(row[1]) for row in table_of(CODES, "## Problems")}
    assert {code: status for code, status in listed.items() if code not in OF_THE_PROTOCOL} == problem_codes()


def test_every_kind_of_requirement_has_its_codes():
    """`all` and `any` give the reason of one of their members."""
    kinds = set(re.findall(r"^### (\S+)$", _section("requirement"), flags=re.MULTILINE)) - {"all", "any"}
    assert {f"{kind}-not-reached" for kind in kinds} | kinds <= _listed_reasons()


def _section(family: str) -> str:
    return text_of(REFERENCE / "policies.md").split(f"\n## {family}\n")[1].split("\n## ")[0]


def test_every_knob_of_the_tests_is_documented():
    """What tests and benchmarks read from the environment, and nothing else, is in CONTRIBUTING."""
    used: dict[str, str] = {}
    for folder in ("tests", "bench"):
        for path in (PROJECT / folder).rglob("*.py"):
            if path.parent != Path(__file__).parent:
                used |= dict(re.findall(r"environ(?:\.get\(|\[)\s*\"(SUFFICE_\w+)\"(?:, \"(\d+)\")?", path.read_text()))
    settings = {f"SUFFICE_{name.upper()}" for name in Settings.model_fields}
    listed = {row[0].strip("`"): row[1].strip("`") for row in table_of(PROJECT / "CONTRIBUTING.md", "### Knobs")}
    assert set(listed) == set(used) - settings
    assert {name: listed[name] for name, default in used.items() if default} == {
        name: default for name, default in used.items() if default
    }


def test_the_glossary_is_in_order():
    words = [row[0] for row in table_of(REFERENCE / "glossary.md", "# Glossary")]
    assert words == sorted(words)
    assert len(set(words)) == len(words)
