"""The lock files pin what the project asks for; a lock that was not made again after a change would hide it."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RUNTIME = PROJECT["project"]["dependencies"]
DEVELOPMENT = PROJECT["project"]["optional-dependencies"]["dev"]
LOCKS = {"requirements.txt": RUNTIME, "requirements-dev.txt": RUNTIME + DEVELOPMENT}


def pinned(lock: str) -> dict[str, str]:
    """Return the version of every package in a lock file."""
    lines = re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", (ROOT / lock).read_text(), flags=re.MULTILINE)
    return {canonicalize_name(name): version for name, version in lines}


@pytest.mark.parametrize(("lock", "asked"), LOCKS.items(), ids=LOCKS)
def test_a_lock_holds_versions_that_the_project_allows(lock, asked):
    """`make lock` corrects it."""
    versions = pinned(lock)
    for requirement in map(Requirement, asked):
        version = versions[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{lock} has {version}, {requirement} is asked for"


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_pins_everything_with_hashes_and_names_no_host(lock):
    text = (ROOT / lock).read_text()
    requirements = re.findall(r"^([a-z][\w.-]*)(.*)$", text, flags=re.MULTILINE | re.IGNORECASE)
    assert len(requirements) > 20
    assert all(rest.startswith(("==", "[")) for _, rest in requirements)
    assert text.count("--hash=sha256:") >= len(requirements)
    assert "://" not in text
    assert "-url" not in text


def test_the_tests_build_the_wheel_with_what_pip_builds_it_with():
    assert set(PROJECT["build-system"]["requires"]) <= set(DEVELOPMENT)
