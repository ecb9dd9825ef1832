"""The nouns of a job as plain frozen dataclasses and enums, without I/O."""

from app.domain import money

__all__ = ["money"]  # imported with the package, because it sets the precision of every amount
