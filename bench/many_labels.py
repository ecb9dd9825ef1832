"""Time one judgement of one item, for jobs of 2 to 1,000 labels, with every policy of the families that look ahead.

A judgement is what an answer costs the service: learn it, and decide about its item again. Times are processor time.
`x` is the ratio to the same judgement of a default job with two labels, which is measured in the same run.
"""

import argparse
import time
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from pydantic import ValidationError

from app.policy.core.belief import ItemContext, State
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy

MODELS = ("auto", "anonymous", "tiers", "spam-filter", "weighted", "one-coin", "two-coin", "confusion")
REQUIREMENTS: tuple[dict[str, Any], ...] = (
    {"kind": "posterior"},
    {"kind": "posterior", "min_probability": 0.999999},
    {"kind": "ratio"},
    {"kind": "ratio", "min_ratio": 1000},
    {"kind": "significance"},
    {"kind": "margin"},
    {"kind": "margin", "c": 1000},
    {"kind": "margin", "rounding": "random"},
    {"kind": "profit", "value": 10, "loss": 300},
    {"kind": "online-majority", "labels": 5},
    {"kind": "count", "labels": 5},
    {"kind": "all", "of": [{"kind": "posterior"}, {"kind": "ratio"}]},
    {"kind": "any", "of": [{"kind": "posterior"}, {"kind": "ratio"}]},
    {"kind": "all", "of": [{"kind": "margin", "rounding": "random"}, {"kind": "count", "labels": 5}]},
)
ALLOCATIONS: tuple[dict[str, Any], ...] = (
    {"kind": "information"},
    {"kind": "requallo"},
    {"kind": "opt-kg"},
    {"kind": "kg"},
    {"kind": "cvar-kg"},
    {"kind": "label-uncertainty"},
    {"kind": "round-robin"},
    {"kind": "random"},
    {"kind": "dispatch"},
    {"kind": "crowdbudget"},
)
ANSWERS = ("choice", "ordinal", "choices")
MOST_CHOICES = 50
VOTES = ((), (0, 1, 0), (0, 1, 2, 3, 0))  # what earlier workers answered: nothing, a usual item, a disputed one
PLACES = (37, 3, 11, 36)  # of the labels in the list
ALLOWED = 20.0  # milliseconds, with 200 labels


def policies(
    labels: int, answer: str = "choice", allocations: tuple[dict[str, Any], ...] = ALLOCATIONS
) -> Iterator[tuple[str, JobPolicy | str]]:
    """Every combination with this many labels: its name, and its policy, or why it is refused."""
    names = [f"label {number}" for number in range(labels)]
    for model, requirement, allocation in product(MODELS, REQUIREMENTS, allocations):
        name = f"{model} {named(requirement)} {named(allocation)}"
        parts = {"worker_model": {"kind": model}, "requirement": requirement, "allocation": allocation}
        try:
            yield name, JobPolicy.model_validate({"answer": {"kind": answer}, "labels": names, **parts})
        except ValidationError as refusal:
            yield name, "; ".join(error["msg"] for error in refusal.errors())


def named(policy: dict[str, Any]) -> str:
    members = ",".join(named(member) for member in policy.get("of", ()))
    set_to = "".join(f" {name}={value}" for name, value in policy.items() if name not in {"kind", "of"})
    return policy["kind"] + (f"({members})" if members else "") + set_to.replace(" ", ":")


def item_after(engine: Engine, votes: tuple[int, ...]) -> tuple[State, ItemContext, np.ndarray]:
    """An item with these answers of workers who have answered elsewhere, and the skill of one more."""
    context, classes, draw = ItemContext.plain(1), engine.policy.classes, np.random.default_rng(1)
    other, skill = engine.initial(context), engine.newcomer()[None]
    skills = [skill]
    for label in draw.integers(0, classes, 12):  # of workers who are right more or less often
        other, skill = engine.learn(other, context, skill, np.array([label if draw.random() < 0.5 else 0]))
        if engine.scores_finished_items:
            skill = engine.model.score(skill, draw.random(1) < 0.7)
        skills.append(skill)
    state = engine.initial(context)
    for position, vote in enumerate(votes):
        state, _ = engine.learn(state, context, skills[-position], np.array([PLACES[vote] % classes]))
    return state, context, skill


def milliseconds(policy: JobPolicy, repeats: int = 1) -> float:
    """The slowest of the judgements, by the processor time of the fastest repeat."""
    engine = Engine(policy)
    slowest = 0.0
    for votes in VOTES:
        state, context, skill = item_after(engine, votes)
        took = []
        for repeat in range(repeats + 1):  # the first one also builds tables
            began = time.process_time()
            after, _ = engine.learn(state, context, skill, np.array([0]))
            engine.judge(after, context)
            if repeat:
                took.append((time.process_time() - began) * 1000)
        slowest = max(slowest, min(took))
    return slowest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, nargs="+", default=[2, 20, 100, 200, 1000])
    parser.add_argument("--answers", nargs="+", default=["choice"], choices=ANSWERS)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--above", type=float, default=0.0, help="show only combinations that take more milliseconds")
    parser.add_argument("--only", default="", help="show only combinations whose name contains this")
    arguments = parser.parse_args()
    reference = milliseconds(JobPolicy(labels=("a", "b")), 20)
    print(f"a default job with two labels: {reference:.2f} ms")
    for answer, labels in product(arguments.answers, arguments.labels):
        many = min(labels, MOST_CHOICES) if answer == "choices" else labels
        for name, policy in policies(many, answer):
            if arguments.only not in name:
                continue
            if isinstance(policy, str):
                print(f"{many:5} {answer:8} {name:60} refused: {policy}")
                continue
            took = milliseconds(policy, arguments.repeats)
            if took >= arguments.above:
                slow = "SLOW" if took > ALLOWED and many <= 200 else ""
                print(f"{many:5} {answer:8} {name:60} {took:8.2f} ms {took / reference:7.1f} x {slow}", flush=True)


if __name__ == "__main__":
    main()
