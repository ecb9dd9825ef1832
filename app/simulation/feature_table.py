"""Read the features of recorded items from a table: a column with the item, and a number in every other column."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from app.policy.quality.item_features import MOST_FEATURES, MOST_NUMBERS
from app.simulation.csv_tables import Cell, WrongFile, header_of, read_table
from app.simulation.recorded_crowd import Notify, RecordedAnswers, ignore_message

_KEY = "item"


def with_features(crowd: RecordedAnswers, path: Path, notify: Notify = ignore_message) -> RecordedAnswers:
    """The recorded answers with the features of their items; an item that the table does not name has none."""
    columns = [name for name in header_of(path) if name != _KEY]
    if not 0 < len(columns) <= MOST_FEATURES:
        wrong = f"there must be 1 to {MOST_FEATURES:,} columns of numbers besides {_KEY!r}, not {len(columns):,}"
        raise WrongFile(path, 1, wrong)
    if len(crowd.items) * len(columns) > MOST_NUMBERS:
        raise WrongFile(
            path, 1, f"{len(columns):,} numbers for each item are too many: at most {MOST_NUMBERS:,} in all"
        )
    position = {key: place for place, key in enumerate(crowd.items)}
    features = np.full((len(crowd.items), len(columns)), np.nan)
    for item, *numbers in read_table(path, (_KEY, *columns)):
        if item.text in position:
            features[position[item.text]] = [_number(path, cell) for cell in numbers]
    missing = int(np.isnan(features[:, 0]).sum())
    if missing:
        notify(f"{path}: {missing} of {len(crowd.items)} answered items have no features; nothing is said about them")
    return replace(crowd, features=features)


def _number(path: Path, cell: Cell) -> float:
    try:
        number = float(cell.text)
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise WrongFile(path, cell, f"{cell.text!r} is not a number")
    return number
