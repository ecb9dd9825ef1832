"""How deep the tests look: `make test` stays within minutes, CI sets SUFFICE_DEEP and looks deeper at the same laws."""

import os

DEEP = bool(os.environ.get("SUFFICE_DEEP"))


def depth(normal: int, deep: int) -> int:
    """Return how many seeds, examples or requests to take."""
    return deep if DEEP else normal
