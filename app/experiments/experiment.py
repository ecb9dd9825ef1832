"""What an experiment takes and returns: its setting, and the numbers of the paper beside ours."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Figure: TypeAlias = float | str  # a number, or a sentence where the paper gives none


@dataclass(frozen=True)
class Setting:
    """How an experiment is run. The caller supplies the clock and the output of progress messages."""

    data: Path
    seeds: int
    quick: bool = False
    report: Callable[[str], None] = lambda _: None
    clock: Callable[[], float] = lambda: 0.0  # seconds

    def size(self, full: int, quick: int) -> int:
        """A size of the experiment: the small one in quick runs."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Row:
    """One number of the paper beside ours."""

    what: str
    paper: Figure
    ours: Figure
    agrees: bool | None = None  # None: there is nothing to compare with
    digits: int = 3  # after the decimal point

    def __post_init__(self) -> None:
        """Convert numpy's bool, which JSON cannot write."""
        if self.agrees is not None:
            object.__setattr__(self, "agrees", bool(self.agrees))

    def written(self, figure: Figure) -> str:
        """The number as it is printed.

        >>> Row("labels per item", 6, 5.96, digits=1).written(5.96)
        '6.0'
        """
        return figure if isinstance(figure, str) else f"{figure:,.{self.digits}f}"


@dataclass(frozen=True)
class FigureLine:
    """A curve of a chart."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float] | None = None  # a standard deviation to either side
    marks: Sequence[str] | None = None  # names of points without a line

    @classmethod
    def through(
        cls, name: str, x: npt.ArrayLike, y: npt.ArrayLike, spread: npt.ArrayLike | None = None
    ) -> "FigureLine":
        """The curve through points given as arrays; those whose y is not a number are left out.

        >>> FigureLine.through("fits", [1, 2, 3], [0.5, float("nan"), 0.25]).x
        [1.0, 3.0]
        """
        known = ~np.isnan(np.asarray(y, dtype=np.float64))
        return cls(name, _floats(x, known), _floats(y, known), None if spread is None else _floats(spread, known))


@dataclass(frozen=True)
class Panel:
    """Curves that share two axes."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[FigureLine, ...]
    log_y: bool = False


@dataclass(frozen=True)
class Finding:
    """The results of an experiment."""

    rows: tuple[Row, ...]
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()  # what the paper leaves open, and what we chose


@dataclass(frozen=True)
class Experiment:
    """A figure or table of a paper as a command."""

    name: str
    shows: str
    citation: str
    run: Callable[[Setting], Finding]
    needs: tuple[str, ...] = ()  # folders of the public sets that it reads
    also: tuple[str, ...] = ()  # other figures that it also draws
    seeds: int | None = None  # runs to average; None: it has no random draws, or is one long run
    quick_seeds: int = 1


def equal_as_printed(paper: float, ours: float, digits: int) -> bool:
    """Whether our number equals the printed one when it is rounded or cut off at the last printed digit.

    >>> [equal_as_printed(0.687, 0.6875, 3), equal_as_printed(0.79, 0.795, 3)]
    [True, False]
    """
    return abs(paper - ours) <= 0.501 / 10.0**digits


def yes_or_no(holds: object) -> tuple[str, bool]:
    """What a row shows where the paper makes a claim, and whether we agree with it.

    >>> Row("more expensive", "yes", *yes_or_no(2 > 1)).ours
    'yes'
    """
    return ("yes", True) if holds else ("no", False)


def _floats(values: npt.ArrayLike, which: npt.NDArray[np.bool_]) -> list[float]:
    return [float(each) for each in np.asarray(values, dtype=np.float64)[which]]
