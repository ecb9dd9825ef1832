"""The page on architecture names functions that exist, and links to the modules that hold them."""

import importlib
import re
import subprocess
import sys
from functools import reduce

import pytest

from tests.docs.pages import PROJECT, text_of

PAGE = PROJECT / "docs" / "explanation" / "architecture.md"
MOST_OF_THE_SERVICE = 18  # modules of the api, the use cases, the store and the domain
MOST_OF_ALL = 28  # with the arithmetic of the default policy
WAY_OF_A_VOTE = [
    "app.use_cases.work.batching",
    "app.store.jobs",
    "app.use_cases.work.record",
    "app.use_cases.work.ledger",
    "app.use_cases.work.judging",
]
NAMED = re.findall(r"\[`([\w.]+)`\]\(\.\./\.\./(app/[\w/]+\.py)\)", text_of(PAGE))


@pytest.mark.parametrize(("name", "path"), sorted(set(NAMED)), ids=lambda each: each)
def test_what_is_named_exists(name: str, path: str):
    module, *attributes = name.split(".")
    assert path.endswith(f"/{module}.py"), f"{name} does not stand in {path}"
    assert attributes, f"{name} names no function"
    found = importlib.import_module(path.removesuffix(".py").replace("/", "."))
    reduce(getattr, attributes, found)


@pytest.mark.parametrize("layer", ["api", "use_cases", "policy"])
def test_every_room_is_in_the_picture(layer: str):
    """The folders of a layer, as the line of the layer and those that continue it name them."""
    picture = text_of(PAGE).split("```text\n")[1].split("```")[0]
    line = re.split(r"\n(?=[a-z])", picture[picture.index(f"{layer} ") :])[0]
    folders = {path.parent.name for path in (PROJECT / "app" / layer).glob("*/__init__.py")}
    assert folders - set(re.findall(r"(\w+)/", line)) == set()


def test_the_ways_name_their_steps():
    """Every step of the two ways names at least one function, but for those that say how it ends."""
    text = text_of(PAGE)
    for heading, most_without in (("The way of a vote", 1), ("The way of a request for work", 1)):
        section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
        steps = re.split(r"\n\d+\. ", section)[1:]
        assert len(steps) >= 6
        assert sum("../../app/" not in step for step in steps) <= most_without


Ways = dict[str, dict[str, list[str]]]  # by request: the functions that ran, by module, in the order of first entry


@pytest.fixture(scope="module")
def ways() -> Ways:
    """What `bench/trace.py` prints for a real request of each kind."""
    return {request_kind: _traced(request_kind) for request_kind in ("answer", "next")}


def _traced(request_kind: str) -> dict[str, list[str]]:
    command = [sys.executable, "bench/trace.py", request_kind]
    printed = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True, timeout=140).stdout
    lines = re.findall(r"^ *\d+ (app[\w.]+): (.*)$", printed, flags=re.MULTILINE)
    return {module: functions.split(", ") for module, functions in lines}


@pytest.mark.parametrize(
    ("request_kind", "heading", "only_sometimes"),
    [
        ("answer", "The way of a vote", set()),
        ("next", "The way of a request for work", {"no_work.NoWork"}),
    ],
)
def test_a_real_request_goes_that_way(ways: Ways, request_kind: str, heading: str, only_sometimes: set[str]):
    """Every function of the steps runs when a request is traced."""
    ran = {
        f"{module.rpartition('.')[2]}.{function}"
        for module, functions in ways[request_kind].items()
        for function in functions
    }
    section = text_of(PAGE).split(f"\n## {heading}\n")[1].split("\n## ")[0]
    steps = "\n".join(re.findall(r"^(?:\d+\. |   ).*$", section, flags=re.MULTILINE))
    told = set(re.findall(r"\[`([\w.]+)`\]\(\.\./\.\./app/", steps)) - only_sometimes
    missing = {name for name in told if not any(each == name or each.startswith(f"{name}.") for each in ran)}
    assert len(told) >= 6
    assert not missing, sorted(ran)


@pytest.mark.parametrize("request_kind", ["answer", "next"])
def test_a_request_passes_few_modules(ways: Ways, request_kind: str):
    modules = list(ways[request_kind])
    of_the_service = [module for module in modules if not module.startswith("app.policy.")]
    assert "app.use_cases.work.batching" in of_the_service
    assert len(of_the_service) <= MOST_OF_THE_SERVICE, of_the_service
    assert len(modules) <= MOST_OF_ALL, modules


def test_only_judging_asks_the_engine_to_judge(ways: Ways):
    """And the modules of the service are entered in the order that the page tells."""
    entered = [module for module in ways["answer"] if module in WAY_OF_A_VOTE]
    assert entered == WAY_OF_A_VOTE
    assert "Engine.judge" in ways["answer"]["app.policy.engine"]
    assert "_judge_now" in ways["answer"]["app.use_cases.work.judging"]


def test_the_line_that_decides_is_named():
    assert ("engine.Engine.ending", "app/policy/engine.py") in NAMED


def test_every_link_to_code_is_checked():
    links = re.findall(r"\]\(\.\./\.\./(app/[^)]+)\)", text_of(PAGE))
    assert len(links) == len(NAMED)
