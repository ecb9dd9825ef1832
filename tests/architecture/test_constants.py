"""The constants of the default policy stand together, in `app/policy/core/tuning.py`."""

import ast
import re
from dataclasses import fields
from typing import get_type_hints

import pytest

from app.policy.core.tuning import TUNED, Chosen
from tests.architecture.source import PROJECT, Module, modules

FOLDERS = ("worker_models/auto", "worker_models/inference", "worker_choice", "quality", "allocation/information.py")
# They change how exactly something is computed, or follow from a formula; nobody chose them by how well a job does.
NOT_TUNED = {
    "audit": {"_BETTER", "_WORSE"},  # part of the method that a certificate names
    "calibration": {"_LOW", "_HIGH", "_SURE", "_KNOTS", "_LEVELS", "_LOG_SLOPES"},
    "copied_answers": {"_MIN_PROBABILITY"},
    "copier_inference": {"_CONVERGED", "_DAMPING", "_MIN_WEIGHT"},
    "counted_votes": {"_CERTAIN"},
    "dirichlet_skills": {"_LOW", "_HIGH", "_NEARLY_PERFECT"},
    "earlier_jobs": {"_DEVIATIONS", "_FLATTEST", "_STEEPEST"},
    "auto_stages": {"_MIN_EVIDENCE"},
    "expectation_propagation": {"_CONVERGED", "_DAMPING", "_MIN_PARAMETER"},
    "feature_model": {"_ALIKE", "_BOUND", "_CONVERGED", "_LEAST_CURVATURE", "_LEAST_LIKELY", "_MOST_TIMES"},
    "information": {"_CLOSE_TO_ONE"},
    "knows_or_guesses": {"_ENDS", "_LEAST", "_MOST"},
    "latent_truth": {"_MIN_COUNT", "_CONVERGED", "_NEARLY_CONVERGED", "_MAX_SLOWING"},
    "number_fit": {"_CONVERGED", "_DAMPING"},
    "number_parts": {"_LARGE"},
    "relative_information": {"_NOTHING"},
    "guess_tests": {"_NOTHING"},
    "stage_models": {"shares_held"},  # 0: free
    "true_class": {"IMPOSSIBLE", "MIN_PRIOR"},
    "ucb": {"_NEW_WORKER"},  # the index of one right answer of one
}
CONSTANTS = [
    (mechanism.name, name, hint)
    for mechanism in fields(TUNED)
    for name, hint in get_type_hints(type(getattr(TUNED, mechanism.name)), include_extras=True).items()
]


def constants_of(module: Module) -> set[str]:
    """The upper-case names and class variables that a module sets to numbers with a point."""
    found = set()
    in_classes = [each for node in module.tree.body if isinstance(node, ast.ClassDef) for each in node.body]
    for node in (*module.tree.body, *in_classes):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        names = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
        is_constant = names.isupper() or "ClassVar" in ast.unparse(getattr(node, "annotation", node.value))
        if is_constant and any(isinstance(each, ast.Constant) and type(each.value) is float for each in ast.walk(node)):
            found |= set(re.findall(r"\w+", names))
    return found


def checked_modules() -> list[Module]:
    policy = [module for module in modules("app/policy") if module.path.stem != "tuning"]
    return [module for module in policy if any(f"policy/{each}" in module.name for each in (*FOLDERS, "engine.py"))]


def test_numbers_that_were_chosen_stand_in_one_module():
    """A new one belongs in `tuning`, with what it was chosen by; a tolerance belongs in the list above."""
    found = {module.path.stem: names for module in checked_modules() if (names := constants_of(module))}
    assert found == NOT_TUNED


@pytest.mark.parametrize(("mechanism", "name", "hint"), CONSTANTS)
def test_every_constant_says_what_it_does_and_what_it_was_chosen_by(mechanism, name, hint):
    (chosen,) = (each for each in hint.__metadata__ if isinstance(each, Chosen))
    assert chosen.does
    assert chosen.by
    for path in re.findall(r"(?:bench|docs)/[\w/-]+\.\w+", chosen.by):
        assert (PROJECT / path).exists(), path
    value = getattr(getattr(TUNED, mechanism), name)
    assert type(value) is hint.__origin__ or isinstance(value, tuple)


@pytest.mark.parametrize(("mechanism", "name"), [each[:2] for each in CONSTANTS])
def test_every_constant_is_used(mechanism, name):
    texts = [module.path.read_text() for module in modules("app/policy")]
    assert any(f"TUNED.{mechanism}" in text and f".{name}" in text for text in texts)
