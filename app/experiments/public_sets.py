"""Read and check the public data sets that experiments use."""

from pathlib import Path

import numpy as np

from app.simulation.csv_tables import WrongFile
from app.simulation.recorded_crowd import RecordedAnswers, read_answers, read_crowd

_TABLES = "answers.csv (item,worker,label) and truth.csv (item,truth), either also as .csv.gz"
PUBLIC_SETS = {
    "rte": f"{_TABLES}: textual entailment, of Snow et al. (EMNLP 2008)",
    "millionaire": f"{_TABLES}: the Game data, of Aydin et al. (AAAI 2014)",
    "adult2": f"{_TABLES}: adult ratings of web pages, AdultContent2 of Ipeirotis et al. (HCOMP 2010)",
    "splice": "the files splice and splice.t from LIBSVM's data page",
}
_TEN = 10
_RATINGS = ("G", "P", "R", "X")


def read_rte(sets: Path) -> RecordedAnswers:
    """Textual entailment (Snow et al., EMNLP 2008): two labels, ten answers on every item."""
    folder = sets / "rte"
    crowd = read_crowd(folder)
    if len(crowd.labels) != 2 or (np.bincount(crowd.item) != _TEN).any() or (crowd.truth < 0).any():
        raise WrongFile(
            folder / "answers.csv",
            2,
            "this is not the RTE set, which has two labels, and ten answers and a truth for every item",
        )
    return crowd


def read_adult(sets: Path) -> RecordedAnswers:
    """Adult ratings of web pages, without a truth: `adult3`, the set of Abraham et al., if it is there, or `adult2`."""
    folder = sets / ("adult3" if (sets / "adult3").is_dir() else "adult2")
    crowd = read_answers(folder)
    if crowd.labels != _RATINGS:
        found, expected = ", ".join(crowd.labels), ", ".join(_RATINGS)
        raise WrongFile(folder / "answers.csv", 2, f"the labels must be {expected}; they are {found}")
    return crowd
