"""What is installed is what the project asks for: a lock that was not made anew says otherwise in silence."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pinned(lock: str) -> dict[str, str]:
    """The version of every package in a lock file."""
    lines = re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", (ROOT / lock).read_text(), flags=re.MULTILINE)
    return {canonicalize_name(name): version for name, version in lines}


@pytest.mark.parametrize(
    ("lock", "asked"),
    [
        ("requirements.txt", PROJECT["dependencies"]),
        ("requirements-dev.txt", PROJECT["dependencies"] + PROJECT["optional-dependencies"]["dev"]),
    ],
)
def test_a_lock_holds_versions_that_the_project_allows(lock, asked):
    """`make lock` mends it."""
    versions = pinned(lock)
    for requirement in map(Requirement, asked):
        version = versions[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{lock} has {version}, {requirement} is asked for"
