"""Policies that can be replayed by name: an allocation with the parts that it is normally used with."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Literal

from app.policy.answers import CHOICE, AnyAnswer
from app.policy.job_policy import JobPolicy
from app.policy.worker_choice.pair import AS_PUBLISHED

Workers = Literal["pull", "choose"]

_COUNTED: dict[str, Any] = {"worker_model": {"kind": "anonymous"}, "aggregation": {"kind": "majority"}}
_AS_PUBLISHED_CHOICE: dict[str, Any] = {"worker_choice": AS_PUBLISHED}
_COINS: dict[str, Any] = {
    "worker_model": {"kind": "one-coin", "prior": [4, 1]},
    "aggregation": {"kind": "model"},
    "refit": None,
    **_AS_PUBLISHED_CHOICE,
}
_ALL_ANSWERS: dict[str, Any] = {"requirement": {"kind": "count", "labels": 10_000}, "max_votes_per_label": None}
_RATIO: dict[str, Any] = {"requirement": {"kind": "ratio", "min_ratio": 4}}

# A row per name: the parts for both modes, for `pull`, and for `choose`.
_TABLE: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    # Ours: the defaults of a job.
    "information": (_ALL_ANSWERS, {}, {"worker_choice": {"kind": "pair"}}),
    # Chen et al. (ICML 2013): votes in section 3, one-coin workers with the prior (4, 1) in section 4.
    "opt-kg": (_ALL_ANSWERS, _COUNTED, _COINS),
    "kg": (_ALL_ANSWERS, _COUNTED, _COINS),
    "cvar-kg": (_ALL_ANSWERS, _COUNTED, _COINS),
    # These look at votes alone, so they treat all workers as equal.
    "label-uncertainty": (_ALL_ANSWERS, _COUNTED, _COUNTED | _AS_PUBLISHED_CHOICE),
    "round-robin": (_ALL_ANSWERS, _COUNTED, _COUNTED | _AS_PUBLISHED_CHOICE),
    "random": (_ALL_ANSWERS, _COUNTED, _COUNTED | _AS_PUBLISHED_CHOICE),
    "crowdbudget": (_ALL_ANSWERS, _COUNTED, _COUNTED | _AS_PUBLISHED_CHOICE),
    # These need a requirement: Li et al. (WSDM 2016) and Gao et al. (SIGMOD 2013).
    "requallo": (_RATIO, _COUNTED, _COUNTED | _AS_PUBLISHED_CHOICE),
    "dispatch": ({"requirement": {"kind": "margin"}}, _COUNTED, _COUNTED | _AS_PUBLISHED_CHOICE),
}
NAMES = tuple(_TABLE)
VARIANTS = ("requallo-c5", "requallo-p0.2", "requallo-m3", "requallo-o5")  # examples: any number goes

_VARIANT = re.compile(r"requallo-(?P<kind>[cpmo])(?P<number>\d+(\.\d+)?)")
_REQUIREMENTS = {
    "c": lambda number: {"kind": "ratio", "min_ratio": number},
    "p": lambda number: {"kind": "significance", "alpha": number},
    "m": lambda number: {"kind": "count", "labels": number},
    "o": lambda number: {"kind": "online-majority", "labels": number},
}


class PolicyUnknown(ValueError):
    """No policy has this name, or none does what was asked of it."""


def policy_of(
    name: str, labels: Sequence[str], workers: Workers, seed: int = 0, answer: AnyAnswer = CHOICE
) -> JobPolicy:
    """The policy of this name; raises pydantic's ValidationError if it does not decide about such answers.

    Only `requallo` and `dispatch` (margin) close items before all recorded answers are used. `requallo` has ratio 4;
    `requallo-c5`, `requallo-p0.2` and `requallo-m3` are the paper's variants: ratio 5, significance .2, three labels.
    `requallo-o5` stops once the majority of five labels is certain (the online majority of Gao et al.).

    >>> policy_of("opt-kg", ["a", "b"], "pull").worker_model.kind, policy_of("opt-kg", ["a", "b"], "choose").refit
    ('anonymous', None)
    >>> policy_of("requallo-p0.2", ["a", "b"], "pull").requirement
    Significance(kind='significance', pseudo_votes=1.0, alpha=0.2)
    """
    family, own = _family(name)
    always, pull, choose = _TABLE[family]
    parts = always | (pull if workers == "pull" else choose) | own
    if answer.field == "value":  # there are no votes to count: numbers have a worker model of their own
        parts = {part: value for part, value in parts.items() if part not in {"worker_model", "aggregation"}}
    job = {"answer": answer, "labels": labels, "allocation": {"kind": family}, "seed": seed}
    return JobPolicy.model_validate(job | parts)


def _family(name: str) -> tuple[str, dict[str, Any]]:
    """The row of the table, and the parts that a variant changes."""
    if name in _TABLE:
        return name, {}
    variant = _VARIANT.fullmatch(name)
    if variant is None:
        near = get_close_matches(name, NAMES, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        known = ", ".join([*NAMES, *VARIANTS])
        raise PolicyUnknown(f"There is no policy {name!r}.{hint} Choose one of {known}.")
    return "requallo", {"requirement": _REQUIREMENTS[variant["kind"]](float(variant["number"]))}
