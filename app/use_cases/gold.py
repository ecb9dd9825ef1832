"""Answers on gold: they tell about the worker, or check the item, and look to the outside like any other."""

from dataclasses import replace

import numpy as np

from app.domain import ItemState, Verdict
from app.store.items import Item, Standing
from app.use_cases.answer_ledger import Ledger
from app.use_cases.standing import Known, facts_of, judged
from app.use_cases.votes import Vote


def takes_answers(vote: Vote) -> bool:
    """Gold is closed and yet asked about; what the crowd made gold, only under a lease."""
    return vote.item.gold is not None and (not vote.item.promoted or vote.lease is not None)


def checks_the_item(ledger: Ledger, vote: Vote) -> bool:
    """The answer is not held against the worker, but against an item that the crowd made gold."""
    rules, lease = ledger.job.rules, vote.lease
    if not vote.item.promoted or lease is None or rules.auto_gold is None:
        return False
    return rules.auto_gold.checks(rules.seed, lease.assignment_id)


def refutes_the_item(ledger: Ledger, vote: Vote) -> bool:
    return checks_the_item(ledger, vote) and vote.label != vote.item.gold


def demoted(ledger: Ledger, item: Item) -> Item:
    """Gold no more: it stands where its votes say, perhaps open. Who was held to it is not held to it twice."""
    return replace(item, gold=None, promoted=False, scored=ledger.given)


def is_promoted(ledger: Ledger, before: Standing, item: Item) -> bool:
    """The item was resolved just now, far above the requirement, in a job whose crowd may make gold."""
    auto_gold, after = ledger.job.rules.auto_gold, item.standing
    newly = before.state is ItemState.OPEN and after.state is ItemState.RESOLVED
    return newly and auto_gold is not None and bool(auto_gold.promotes(np.array([after.confidence]))[0])


def as_if_new(ledger: Ledger, vote: Vote) -> tuple[Verdict, float]:
    """What is told of an answer on gold: verdict and confidence as if the item were new, and this its first vote."""
    engine, item = ledger.job.engine, vote.item
    known = Known(item.item_id, item.cost, item.prior)
    facts = facts_of(engine, [known])
    skill = ledger.skill_of(vote.worker)[None, :]
    state = engine.model.answered(engine.initial(facts), facts, skill, np.array([vote.label]))
    ((standing, verdict),) = judged(engine, state, [known])
    return verdict, standing.confidence
