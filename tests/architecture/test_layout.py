"""Tests lie where a reader looks for them, and no test module depends on another."""

import ast
from pathlib import Path

from tests.architecture.source import PROJECT, Module, modules
from tests.order import FIRST, TOGETHER

TESTS = modules("tests")
BESIDE_APP = {"architecture", "clients", "docs", "promises"}  # about the project as a whole
BROWSER = {"web"}  # the dashboard's folder, which the documentation pages share until it exists


def test_no_test_module_is_imported_by_another():
    """Code that tests share is in a separate module; `conftest` gives fixtures and nothing else."""
    wrong = {
        module.name: imported
        for module in TESTS
        if (imported := {name for name in module.imports if name.startswith("tests.") and is_a_test(name)})
    }
    assert wrong == {}


def is_a_test(name: str) -> bool:
    return any(part.startswith("test_") or part == "conftest" for part in name.split("."))


def folders(modules: list[Module], below: str) -> set[Path]:
    return {module.path.parent.relative_to(PROJECT / below) for module in modules}


def test_the_folders_of_tests_are_folders_of_app():
    known = folders(modules("app"), "app") | {Path(name) for name in BESIDE_APP | BROWSER}
    assert folders([module for module in TESTS if module.path.stem.startswith("test_")], "tests") - known == set()


def test_only_one_module_knows_where_the_public_sets_are():
    knows = {module.name for module in TESTS if 'shared" / "data' in module.path.read_text()}
    exempt = {"tests/cli/test_experiments_command.py", "tests/architecture/test_layout.py"}  # a folder of its own; this
    assert knows - exempt == {"tests/public_sets.py"}


def test_a_job_is_given_another_configuration_only_together_with_its_engine():
    """`dataclasses.replace` would keep the engine of the old configuration; `Job.reconfigured` builds the new one."""
    configuration = {"policy", "budget", "inverse_costs", "stage", "calibration"}
    found = {
        f"{module.name}:{call.lineno}"
        for module in [*modules("app/use_cases"), *modules("app/api"), *modules("app/store")]
        for call in ast.walk(module.tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "replace"
        if configuration & {keyword.arg for keyword in call.keywords}
    }
    assert found == set()


def test_the_order_names_files_that_exist():
    assert {*FIRST, *TOGETHER} <= {module.path.name for module in TESTS}
