"""The answers of a public set as ballots, for tests of aggregations and worker models."""

import csv
import gzip
from functools import cache
from pathlib import Path

import numpy as np

from app.policy.core.ballots import Ballots, first_choice
from tests.public_sets import public_set


@cache
def recorded(name: str) -> tuple[Ballots, np.ndarray]:
    """Return the answers of a public set, and the true class of each item, or -1."""
    folder = public_set(name)
    item, worker, label = zip(*_rows(folder), strict=True)
    (items, item), (_, worker), (labels, label) = (
        np.unique(each, return_inverse=True) for each in (item, worker, label)
    )
    with (folder / "truth.csv").open(newline="") as file:
        truth = {row["item"]: row["truth"] for row in csv.DictReader(file)}
    position = {name: place for place, name in enumerate(labels)}
    return Ballots.of(item, worker, label), np.array([position.get(truth.get(key), -1) for key in items])


def accuracy(posterior: np.ndarray, truth: np.ndarray) -> float:
    """Return the share of items with known truth whose label is right; a tie between k classes counts 1/k."""
    known = truth >= 0
    return float(first_choice(posterior)[known, truth[known]].mean())


def _rows(folder: Path) -> list[tuple[str, str, str]]:
    packed = folder / "answers.csv.gz"
    text = gzip.decompress(packed.read_bytes()).decode() if packed.exists() else (folder / "answers.csv").read_text()
    return [(row["item"], row["worker"], row["label"]) for row in csv.DictReader(text.splitlines())]
