"""What a job is made of: plain frozen dataclasses and enums, with no I/O."""

from app.domain import money

__all__ = ["money"]  # loaded with the package: it sets the precision of every amount
