"""Stopping at a lead, fixed numbers of labels, and EM on adult ratings (Abraham et al., SIGIR 2016, Figure 5)."""

from dataclasses import replace

import numpy as np
import pytest

from app.experiments.cost_error_curves import CostErrorCurve
from app.experiments.experiment import Setting
from app.experiments.gold_streams import StreamOutcome
from app.experiments.how_many_workers_figure_5 import (
    FIXED,
    GAL,
    GAL_MAJORITY,
    figure_5,
    of_some_labels,
    with_majority_as_truth,
)
from app.experiments.public_sets import read_adult
from app.simulation.recorded_crowd import RecordedAnswers
from tests.public_sets import FOLDER, public_set


def crowd_of(*votes):
    """A page per argument, a worker per letter of it."""
    given = [
        (item, worker, "GPRX".index(label)) for item, page in enumerate(votes) for worker, label in enumerate(page)
    ]
    item, worker, label = (np.array(column) for column in zip(*given, strict=True))
    pages, workers = (tuple(map(str, range(column.max() + 1))) for column in (item, worker))
    return RecordedAnswers(pages, workers, ("G", "P", "R", "X"), item, worker, label, np.full(len(votes), -1))


def test_the_truth_is_the_majority_of_all_labels():
    """Pages with few labels, or with a tie, have none."""
    found = with_majority_as_truth(crowd_of("GGX", "PPRR", "XX", "RXXXG"), least=3)
    assert found.items == ("0", "3")
    assert found.truth.tolist() == [0, 3]


def test_with_all_labels_the_majority_is_the_truth():
    crowd = with_majority_as_truth(crowd_of("GGX", "PPR", "RRRX", "GPPP"), least=3)
    found = of_some_labels(crowd, 9, np.random.default_rng(1))
    assert found[FIXED].error == found[GAL_MAJORITY].error == 0
    assert found[FIXED].cost == found[GAL].cost == len(crowd.item) / 4


def test_a_fixed_overlap_takes_as_many_labels_of_every_page():
    """Of one label each, half of the votes here are wrong; ties of two different ones count one half."""
    crowd = replace(crowd_of(*["GP"] * 400), truth=np.zeros(400, dtype=np.int64))
    one, two = (of_some_labels(crowd, labels, np.random.default_rng(1))[FIXED] for labels in (1, 2))
    assert (one.cost, two.cost) == (1.0, 2.0)
    assert one.error == pytest.approx(0.5, abs=0.1)
    assert two.error == pytest.approx(0.5)


def test_gal_breaks_ties_for_the_common_label():
    crowd = replace(crowd_of(*["GG"] * 30, "GP", "PG"), truth=np.zeros(32, dtype=np.int64))
    found = of_some_labels(crowd, 2, np.random.default_rng(1))
    assert found[GAL_MAJORITY].error == 0
    assert found[FIXED].error == pytest.approx(1 / 32)


def test_the_papers_claims_hold_on_adult_ratings():
    """Stopping at a lead beats both; GAL is worse than its majority vote, which is like a fixed overlap."""
    public_set("adult2")
    finding = figure_5(Setting(FOLDER, seeds=2, quick=True))
    assert [row.what for row in finding.rows if row.agrees is False] == []
    [panel] = finding.panels
    found = {line.name: [StreamOutcome(*point) for point in zip(line.x, line.y, strict=True)] for line in panel.lines}
    stopping, overlap = (CostErrorCurve.of(found[name]) for name in ("epsilon 0.1", FIXED))
    assert stopping.cost_at(0.1) < 0.7 * overlap.cost_at(0.1)
    assert all(gal.error > same.error for gal, same in zip(found[GAL], found[FIXED], strict=True))


def test_the_papers_own_pages_are_taken_where_they_are(tmp_path):
    rows = {"adult2": "a,v,G\na,w,P\nb,v,R\nb,w,X\n", "adult3": "c,v,G\nc,w,P\nd,v,R\nd,w,X\n"}
    for name, text in rows.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "answers.csv").write_text(f"item,worker,label\n{text}")
    assert read_adult(tmp_path).items == ("c", "d")
    (tmp_path / "adult3" / "answers.csv").rename(tmp_path / "gone")
    (tmp_path / "adult3").rmdir()
    assert read_adult(tmp_path).items == ("a", "b")
