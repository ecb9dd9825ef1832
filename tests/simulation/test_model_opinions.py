"""A model that is confidently wrong on a cluster of items does not push a job below the accuracy that it asked for."""

import numpy as np
import pytest

from app.simulation.model_opinions import Arrangement, PeopleAndModel, run_with_model
from tests.depth import DEEP, depth

ITEMS, PEOPLE, CLUSTER = 200, 20, 0.15
TOLERATED = 0.02
CASES = [(classes, asked) for classes in (2, 3) for asked in (0.9, 0.95)] if DEEP else [(2, 0.95), (3, 0.9)]


@pytest.mark.parametrize("arrangement", ["prior", "worker", "both", "both, by two names"])
@pytest.mark.parametrize(("classes", "asked"), CASES)
def test_no_arrangement_ends_below_what_was_asked(arrangement: Arrangement, classes: int, asked: float):
    outcomes = []
    for seed in range(depth(2, 10)):
        rng = np.random.default_rng(seed)
        crowd = PeopleAndModel.drawn(rng, items=ITEMS, people=PEOPLE, classes=classes, cluster=CLUSTER)
        outcomes.append(run_with_model(crowd, arrangement, asked, seed))
    right, resolved, labels = (
        np.mean([getattr(each, name) for each in outcomes]) for name in ("accuracy", "resolved", "labels_per_item")
    )
    assert right >= asked - TOLERATED, f"right {right:.3f} with {labels:.2f} labels per item"
    assert resolved > 0.95


def test_priors_save_labels():
    """A model that is mostly right halves what people must give: priors are not thrown away."""
    labels = []
    arrangements: tuple[Arrangement, ...] = ("nobody", "prior")
    for arrangement in arrangements:
        crowd = PeopleAndModel.drawn(np.random.default_rng(1), items=ITEMS, people=PEOPLE, classes=3, cluster=0.05)
        labels.append(run_with_model(crowd, arrangement, 0.9, 1).labels_per_item)
    assert labels[1] < 0.7 * labels[0]
