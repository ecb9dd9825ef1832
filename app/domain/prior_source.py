"""The source of a job's priors: how far its opinions are believed, and who repeats them."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PriorSource:
    """How a job takes the priors of its items since the last refit that changed it."""

    skill: tuple[float, ...] | None = None  # by which they are believed; None: a new worker's, (): not at all
    echoes: frozenset[str] = frozenset()  # workers who repeat them, so that their answers replace them

    @property
    def blocked(self) -> bool:
        """Whether priors do not count, because their source is blocked and its votes are removed."""
        return self.skill == ()

    def as_json(self) -> dict[str, Any]:
        """The source as it is stored."""
        return {"skill": None if self.skill is None else list(self.skill), "echoes": sorted(self.echoes)}

    @classmethod
    def from_json(cls, stored: dict[str, Any] | None) -> "PriorSource":
        """The source that was stored."""
        if stored is None:
            return AS_A_NEW_WORKER
        skill: Collection[float] | None = stored["skill"]
        return cls(None if skill is None else tuple(skill), frozenset(stored["echoes"]))


AS_A_NEW_WORKER = PriorSource()
