"""The policies that can be replayed by name: an allocation with what it is normally used with."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Literal

from app.policy.rules import Rules
from app.policy.worker_choice import AS_PUBLISHED

Workers = Literal["pull", "choose"]

_COUNTED: dict[str, Any] = {"worker_model": {"kind": "anonymous"}, "aggregation": {"kind": "majority"}}
_FIRST_IN_LINE: dict[str, Any] = {"worker_choice": AS_PUBLISHED}
_COINS: dict[str, Any] = {
    "worker_model": {"kind": "one-coin", "prior": [4, 1]},
    "aggregation": {"kind": "model"},
    "refit": None,
    **_FIRST_IN_LINE,
}
_ALL_ANSWERS: dict[str, Any] = {"requirement": {"kind": "count", "labels": 10_000}, "max_votes_per_label": None}
_RATIO: dict[str, Any] = {"requirement": {"kind": "ratio", "min_ratio": 4}}

# A row per name: in every case, where whoever comes is asked, and where the policy picks the worker.
_TABLE: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    # Ours: the defaults of a job.
    "information": (_ALL_ANSWERS, {}, {"worker_choice": {"kind": "pair"}}),
    # Chen et al. (ICML 2013): votes in section 3, one-coin workers with the prior (4, 1) in section 4.
    "opt-kg": (_ALL_ANSWERS, _COUNTED, _COINS),
    "kg": (_ALL_ANSWERS, _COUNTED, _COINS),
    "cvar-kg": (_ALL_ANSWERS, _COUNTED, _COINS),
    # These look at votes alone, so whoever is asked is as good as any other.
    "label-uncertainty": (_ALL_ANSWERS, _COUNTED, _COUNTED | _FIRST_IN_LINE),
    "round-robin": (_ALL_ANSWERS, _COUNTED, _COUNTED | _FIRST_IN_LINE),
    "random": (_ALL_ANSWERS, _COUNTED, _COUNTED | _FIRST_IN_LINE),
    "crowdbudget": (_ALL_ANSWERS, _COUNTED, _COUNTED | _FIRST_IN_LINE),
    # Without a requirement to reach, these would be nothing: Li et al. (WSDM 2016) and Gao et al. (SIGMOD 2013).
    "requallo": (_RATIO, _COUNTED, _COUNTED | _FIRST_IN_LINE),
    "dispatch": ({"requirement": {"kind": "margin"}}, _COUNTED, _COUNTED | _FIRST_IN_LINE),
}
NAMES = tuple(_TABLE)

_VARIANT = re.compile(r"requallo-(?P<kind>[cpm])(?P<number>\d+(\.\d+)?)")
_REQUIREMENTS = {
    "c": lambda number: {"kind": "ratio", "min_ratio": number},
    "p": lambda number: {"kind": "significance", "alpha": number},
    "m": lambda number: {"kind": "count", "labels": number},
}


class PolicyUnknown(ValueError):
    """No policy has this name."""


def rules_of(name: str, labels: Sequence[str], workers: Workers, seed: int = 0) -> Rules:
    """What a policy of this name is made of.

    Nothing is closed before all recorded answers are in, but by `requallo` (ratio 4; `requallo-c5`, `requallo-p0.2` and
    `requallo-m3` are the paper's variants: ratio 5, significance .2, three labels) and by `dispatch` (margin).

    >>> rules_of("opt-kg", ["a", "b"], "pull").worker_model.kind, rules_of("opt-kg", ["a", "b"], "choose").refit
    ('anonymous', None)
    >>> rules_of("requallo-p0.2", ["a", "b"], "pull").requirement
    Significance(kind='significance', alpha=0.2)
    """
    family, own = _family(name)
    always, pull, choose = _TABLE[family]
    parts = always | (pull if workers == "pull" else choose) | own
    return Rules.model_validate({"labels": labels, "allocation": {"kind": family}, "seed": seed} | parts)


def _family(name: str) -> tuple[str, dict[str, Any]]:
    """The row of the table, and what the name says beyond it."""
    if name in _TABLE:
        return name, {}
    variant = _VARIANT.fullmatch(name)
    if variant is None:
        near = get_close_matches(name, NAMES, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        known = ", ".join(NAMES)
        raise PolicyUnknown(f"{name!r} is no policy.{hint} Known are {known}, requallo-c5, requallo-p0.2, requallo-m3.")
    return "requallo", {"requirement": _REQUIREMENTS[variant["kind"]](float(variant["number"]))}
