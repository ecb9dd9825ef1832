"""Find the cheapest requirement for an accuracy."""

from collections.abc import Sequence
from decimal import Decimal
from math import floor

from fastapi import APIRouter, Response

from app.api.http.common_schemas import ReasonOut, money, rounded_money
from app.api.http.services import ServicesOf
from app.api.plans.default_job_schemas import DefaultJobOut, default_job_out, default_offer
from app.api.plans.plan_route import Form, in_form, plan_at
from app.api.plans.plan_schemas import PlanOut, PromiseOut
from app.api.plans.prior_schemas import prior_out
from app.api.plans.requirement.schemas import (
    AnswersAndAccuracy,
    RequirementKindOut,
    RequirementPlanIn,
    RequirementPlanOut,
)
from app.charts.requirement_chart import KindCurve, RequirementView, draw_requirement
from app.errors import FieldError, InvalidInput
from app.policy.planning.cost_sensitive import Prior
from app.policy.planning.requirement_search import RequirementChoice, choices
from app.policy.planning.stopping import label_curve
from app.use_cases.plans.find_prior import FoundPrior, find_prior
from app.use_cases.plans.forecast_default_job import forecast_default_job
from app.use_cases.plans.plan_threads import in_plan_thread

router = APIRouter()


@plan_at(router, "/requirement", summary="Find the cheapest requirement for an accuracy", shows=RequirementPlanOut)
async def plan_requirement(services: ServicesOf, given: RequirementPlanIn, form: Form) -> Response:
    """Use it before you create a job, if you know how often its labels must be right, but not when to stop asking.

    For each kind of requirement the plan finds the cheapest parameters that reach the accuracy, with the expected
    answers, resolved items and accuracy. It enumerates all votes that an item with two labels can get, and applies the
    rules of a job that counts votes to each, as if all workers were equally good. `default_job` says what a default job
    would do, which learns who is good; that job is offered unless `job` is `counted-votes`. The forecast plan has the
    same figures for it.
    """
    known = await find_prior(services.database, given.prior.source())
    prior = known.prior
    found = await in_plan_thread(choices, given.accuracy, given.min_resolved, given.limits(), prior, float(given.cost))
    if given.job == "default":
        crowd = known if "prior" in given.model_fields_set else None
        request = given.default_job_request()
        forecast = await forecast_default_job(request, crowd)
        default_job = default_job_out(request, forecast, crowd_known=crowd is not None)
        offer: PlanOut | None = default_offer("requirement", request, forecast)
    else:
        if not found[0].reaches:
            raise _out_of_reach(given, found)
        default_job, offer = None, _offer(given, found[0])
    return await in_form(
        form, _plan(given, known, found, default_job, offer), draw_requirement(_chart(given, prior, found))
    )


def _out_of_reach(given: RequirementPlanIn, found: Sequence[RequirementChoice]) -> InvalidInput:
    top = max(found, key=lambda choice: choice.max_accuracy or 0.0)
    if top.max_accuracy is None:
        detail = f"No requirement resolves {given.min_resolved:.1%} of the items within these limits"
        return InvalidInput(
            detail, errors=(FieldError("#/min_resolved", "Must be lower, or the limits on answers must be higher"),)
        )
    highest = floor(top.max_accuracy * 10_000) / 10_000  # rounded down, so that it can be reached
    reached = f"{top.kind} reaches {highest:g} with {given.min_resolved:.1%} of the items resolved"
    return InvalidInput(
        f"No requirement reaches this accuracy; {reached}, which is the most",
        errors=(FieldError("#/accuracy", f"Must be at most {highest:g}; a lower `min_resolved` may allow more"),),
    )


def _plan(
    given: RequirementPlanIn,
    known: FoundPrior,
    found: Sequence[RequirementChoice],
    default_job: DefaultJobOut | None,
    offer: PlanOut | None,
) -> RequirementPlanOut:
    kinds = [_kind_out(given, choice) for choice in found]
    first = kinds[0]
    return RequirementPlanOut(
        prior=prior_out(known),
        cheapest=first.kind,
        reason=_reason(kinds),
        kinds=kinds,
        default_job=default_job,
        offer=offer,
    )


def _offer(given: RequirementPlanIn, choice: RequirementChoice) -> PlanOut | None:
    if choice.best is None:
        return None
    expected = choice.best.outcome
    promise = PromiseOut(
        cost_per_item=_money(expected.labels, 1, given.cost),
        answers_per_item=expected.labels,
        accuracy=expected.accuracy,
        resolved=expected.resolved,
    )
    return PlanOut.by_votes(
        "requirement",
        promise,
        requirement=choice.best.requirement,
        min_labels=given.min_labels,
        max_labels=given.max_labels,
        max_votes_per_label=given.max_votes_per_label,
    )


def _kind_out(given: RequirementPlanIn, choice: RequirementChoice) -> RequirementKindOut:
    best = choice.best
    labels = None if best is None else best.outcome.labels
    return RequirementKindOut(
        kind=choice.kind,
        reaches_accuracy=choice.reaches,
        requirement=None if best is None else best.requirement.model_dump(mode="json"),
        answers_per_item=labels,
        answers_per_resolved_item=None if best is None else best.outcome.answers_per_resolved_item,
        resolved=None if best is None else best.outcome.resolved,
        accuracy=None if best is None else best.outcome.accuracy,
        total_cost=None
        if labels is None or given.items is None
        else rounded_money(_money(labels, given.items, given.cost)),
        max_accuracy=choice.max_accuracy,
        curve=[AnswersAndAccuracy(answers_per_item=x, accuracy=y) for x, y in _points(choice)],
    )


def _money(labels: float, items: int, cost: Decimal) -> Decimal:
    return money(labels * items * float(cost))


def _points(choice: RequirementChoice) -> list[list[float]]:
    points: list[list[float]] = label_curve([found.outcome for found in choice.tried]).tolist()
    return points


def _reason(kinds: Sequence[RequirementKindOut]) -> ReasonOut:
    first, *others = kinds
    if first.answers_per_resolved_item is None:
        return ReasonOut(code=first.kind, message="Counting votes resolves too few items within these limits")
    if not first.reaches_accuracy:
        message = f"Counting votes reaches {first.max_accuracy:.1%} at most, by {first.kind}"
        return ReasonOut(code=first.kind, message=message)
    needs = f"{first.kind} needs {first.answers_per_resolved_item:.3g} answers for each item that it resolves"
    sentences = [f"{needs}, and is right on {first.accuracy:.1%} of them"]
    more = [f"{each.kind} {each.answers_per_resolved_item:.3g}" for each in others if each.reaches_accuracy]
    short = [
        f"{each.kind} {each.max_accuracy:.1%}"
        for each in others
        if not each.reaches_accuracy and each.max_accuracy is not None
    ]
    sentences += [f"others need more: {', '.join(more)}"] * bool(more)
    sentences += [f"others are not accurate enough: {', '.join(short)} at most"] * bool(short)
    return ReasonOut(code=first.kind, message="; ".join(sentences))


def _chart(given: RequirementPlanIn, prior: Prior, found: Sequence[RequirementChoice]) -> RequirementView:
    curves = [
        KindCurve(
            choice.kind,
            [(labels, accuracy) for labels, accuracy in _points(choice)],
            (choice.best.outcome.labels, choice.best.outcome.accuracy) if choice.best and choice.reaches else None,
        )
        for choice in found
    ]
    return RequirementView(
        curves,
        given.accuracy,
        f"When to stop: accuracy of workers Beta({prior.a:.3g}, {prior.b:.3g})",
        given.min_resolved,
    )
