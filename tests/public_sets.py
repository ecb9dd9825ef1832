"""The public sets of recorded answers: the only place that knows where tests find them.

They are in the folder that `SUFFICE_PUBLIC_SETS` names, else in `shared/data` beside the project. A test that needs a
set that is absent is skipped, unless `SUFFICE_PUBLIC_SETS` is set: then it fails, so that CI cannot skip it unnoticed.
"""

import os
from functools import cache
from pathlib import Path

import pytest

from app.simulation.recorded_crowd import RecordedAnswers, read_crowd

_NAMED = os.environ.get("SUFFICE_PUBLIC_SETS")
FOLDER = Path(_NAMED or Path(__file__).resolve().parents[2] / "shared" / "data")


def public_set(name: str) -> Path:
    """Return the folder of a public set, or skip the test that asks for it."""
    folder = FOLDER / name
    if folder.is_dir():
        return folder
    if _NAMED:
        pytest.fail(f"SUFFICE_PUBLIC_SETS names {FOLDER}, which has no public set {name!r}.")
    pytest.skip(f"The public set {name!r} is not installed: set SUFFICE_PUBLIC_SETS to the folder that holds it.")


@cache
def recorded_crowd(name: str) -> RecordedAnswers:
    """Return the recorded answers of a public set, or skip the test that asks for them."""
    return read_crowd(public_set(name))
