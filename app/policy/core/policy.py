"""What all policies have in common: small frozen models whose fields are their configuration and their API schema."""

import re
from enum import Flag, auto
from typing import Any

from pydantic import BaseModel, ConfigDict

ONE_LABEL = frozenset({"choice", "ordinal"})  # kinds whose answer is one label
LABELS = ONE_LABEL | {"choices"}
EVERY_KIND = LABELS | {"number"}


class Uses(Flag):
    """What a policy's numbers depend on besides an item's votes, its prior and what the worker model keeps of it.

    It exists for speed alone. Items that differ only in what no policy of a job uses are computed once, and a change of
    what no policy uses recomputes nothing. A policy that does not say what it uses counts as using everything.
    """

    NOTHING = 0
    COST = auto()  # the item's cost
    OPEN_ASSIGNMENTS = auto()  # how many answers to the item are under way
    NUMBER = auto()  # the item's number, which also fixes its random draws
    WORKER = auto()  # the skill of the worker who would answer
    BUDGET = auto()  # the job's budget, and the costs of all its items
    PRICE = auto()  # what the job's workers charge on average
    EVERYTHING = COST | OPEN_ASSIGNMENTS | NUMBER | WORKER | BUDGET | PRICE


def plain_description(text: str) -> str:
    r"""A docstring without its doctests: they explain a class to readers of the code, not to readers of the API.

    A sentence that only introduces a doctest goes with it.

    >>> plain_description('Count votes. With three:\n\n>>> 1 + 2\n3\n\nTies stay open.')
    'Count votes.\n\nTies stay open.'
    """
    paragraphs = text.strip().split("\n\n")
    kept = []
    for paragraph, following in zip(paragraphs, [*paragraphs[1:], ""], strict=True):
        if paragraph.lstrip().startswith(">>>"):
            continue
        introduces = paragraph.endswith(":") and following.lstrip().startswith(">>>")
        kept.append(_without_last_sentence(paragraph) if introduces else paragraph)
    return "\n\n".join(paragraph for paragraph in kept if paragraph)


def _without_last_sentence(paragraph: str) -> str:
    """The paragraph up to the last full stop that ends a sentence."""
    ends = [match.end() for match in re.finditer(r"[a-z0-9)]\.(?=\s+[A-Z])", paragraph)]
    return paragraph[: ends[-1]] if ends else ""


def without_doctests(schema: dict[str, Any]) -> None:
    """Take the doctests out of a model's schema (`json_schema_extra`)."""
    if "description" in schema:
        schema["description"] = plain_description(schema["description"])


def _named_by_its_kind(schema: dict[str, Any]) -> None:
    """Make `kind` required in the schema: a request must name it, although the class has a default."""
    without_doctests(schema)
    schema["required"] = sorted({*schema.get("required", []), "kind"})


class Policy(BaseModel):
    """The base of all policies; each subclass is one kind of one family."""

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=_named_by_its_kind)

    kind: str

    @property
    def answer_kinds(self) -> frozenset[str]:
        """The kinds of answers about which it can decide."""
        return LABELS
