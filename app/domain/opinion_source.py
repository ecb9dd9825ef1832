"""A source of opinions about a job's items, such as their priors: how far it is believed, and who repeats it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class OpinionSource:
    """How a job takes the opinions of a source since the last refit that changed it."""

    skill: tuple[float, ...] | None = None  # by which they are believed; None: a new worker's, (): not at all
    echoes: frozenset[str] = frozenset()  # workers who repeat them, so that their answers replace them

    @property
    def blocked(self) -> bool:
        """Whether the opinions do not count, because their source is blocked and its votes are removed."""
        return self.skill == ()

    def as_json(self) -> dict[str, Any]:
        """The source as it is stored."""
        return {"skill": None if self.skill is None else list(self.skill), "echoes": sorted(self.echoes)}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "OpinionSource":
        """The source that was stored."""
        skill: Collection[float] | None = stored["skill"]
        return cls(None if skill is None else tuple(skill), frozenset(stored["echoes"]))


AS_A_NEW_WORKER = OpinionSource()


def sources_as_json(sources: Sequence[OpinionSource]) -> list[dict[str, Any]] | None:
    """The sources as they are stored; None while nothing is known of them."""
    return [source.as_json() for source in sources] or None


def sources_from_json(stored: Sequence[dict[str, Any]] | None) -> tuple[OpinionSource, ...]:
    """The sources that were stored."""
    return tuple(OpinionSource.from_json(source) for source in stored or ())
