"""Plan how many answers each item gets if items cost differently."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal

from fastapi import APIRouter, Response

from app.api.http.common_schemas import ReasonOut, money
from app.api.plans.plan_route import Form, in_form, plan_at
from app.api.plans.plan_schemas import PlanOut, PromiseOut
from app.api.plans.split.schemas import (
    MOST_DIFFERENT,
    GroupShare,
    Guarantees,
    Portion,
    SplitCurvePoint,
    SplitIn,
    SplitOut,
    SplitPlan,
    SplitTarget,
    SplitTargetOut,
)
from app.charts.split_chart import SplitCurves, SplitPoint, draw_split
from app.errors import FieldError, InvalidInput
from app.policy.allocation import AccuracyAtCost, AnyAllocation, ByValue, CrowdBudget, RoundRobin
from app.policy.allocation.by_value import MOST_COSTS
from app.policy.planning.quotas import budget_of_theorem_1, theorem_1, theorem_4
from app.policy.planning.split import (
    SMALLEST_AMOUNT,
    Group,
    Split,
    Splitter,
    budget_for,
    by_crowdbudget,
    by_worth,
    errors_at_least,
    evenly,
    merged,
)
from app.policy.requirements import Count
from app.use_cases.plans.plan_threads import in_plan_thread

router = APIRouter()

_POINTS = 24  # of the curve
_BEYOND = 2  # times the budget: where the curve ends
_SAME = 1e-9  # expected errors per item that differ by less are equal
_MOST_LABELS = 10_000  # per item that a job allows
_SPLITTERS: dict[str, Splitter] = {"uniform": evenly, "crowdbudget": by_crowdbudget, "by_value": by_worth}


@plan_at(router, "/split", summary="Split a budget between items of different cost", shows=SplitPlan)
async def plan_split(given: SplitIn, form: Form) -> Response:
    """Use it if items have different costs and the number of answers per item must be fixed in advance.

    CrowdBudget (Tran-Thanh et al., AAMAS 2013) gives cheap items more answers than expensive ones. The plan compares it
    with the same number of answers for all items, and with a split by the value of each answer, which uses how hard the
    items of each group are. For each it shows the answers per item, the cost, the expected errors and the guarantees.
    """
    groups = given.in_groups()
    _refuse_useless_budget(given, groups)
    plan = await in_plan_thread(_planned, given, groups)
    return await in_form(form, plan, draw_split(_curves(plan)))


def _refuse_useless_budget(given: SplitIn, groups: Sequence[Group]) -> None:
    cheapest = min(group.cost for group in groups)
    if given.budget < cheapest:
        wrong = FieldError("#/budget", f"Must be at least {cheapest:f}, the cost of one answer on the cheapest item")
        raise InvalidInput("The budget does not pay for a single answer. Raise it.", errors=(wrong,))
    different = len({group.cost for group in groups})
    if different > MOST_DIFFERENT:
        wrong = FieldError(
            "#/costs", f"Must have at most {MOST_DIFFERENT} different costs, not {different}; round them"
        )
        raise InvalidInput("There are too many different costs. Round them.", errors=(wrong,))


def _planned(given: SplitIn, groups: Sequence[Group]) -> SplitPlan:
    splits = {name: split(given.budget, groups) for name, split in _SPLITTERS.items()}
    kinds = merged(groups)
    items = sum(group.items for group in groups)
    least = errors_at_least(given.budget, kinds)
    take = min(splits, key=lambda name: round(splits[name].expected_errors / items / _SAME))
    shown = {name: _split_out(split, given, items) for name, split in splits.items()}
    return SplitPlan(
        items=items,
        budget=given.budget,
        recommended=take,
        reason=_reason(take, splits, items, least, alike=len({group.accuracy for group in groups}) == 1),
        **shown,
        lower_bound=least,
        guarantees=_guarantees(given, kinds, items),
        target=_target(given.target, kinds, items) if given.target else None,
        curve=[_point(given.budget * _BEYOND * step / _POINTS, kinds) for step in range(1, _POINTS + 1)],
        offer=_offer(given, groups, shown),
    )


def _offer(given: SplitIn, groups: Sequence[Group], shown: dict[str, SplitOut]) -> PlanOut | None:
    """Offer the best of the splits that a job can carry out."""
    allocations = _run_by_jobs(given, groups)
    take = min(allocations, key=lambda name: round(shown[name].error_rate / _SAME))
    split, items = shown[take], sum(group.items for group in groups)
    portions = [portion for group in split.groups for portion in group.portions]
    most = max(portion.answers for portion in portions)
    if not 1 <= most <= _MOST_LABELS:
        return None
    promise = PromiseOut(
        cost_per_item=money(split.spent / items),
        answers_per_item=sum(portion.answers * portion.items for portion in portions) / items,
        accuracy=1 - split.error_rate,
    )
    limits = {"requirement": Count(labels=most), "max_votes_per_label": most, "budget": given.budget}
    return PlanOut.by_votes("split", promise, allocation=allocations[take], **limits)


def _run_by_jobs(given: SplitIn, groups: Sequence[Group]) -> dict[str, AnyAllocation]:
    """Return the allocations of a job that carry out the splits: by value, if costs tell how hard items are."""
    known = {group.cost / given.price: group.accuracy for group in groups}
    simple: dict[str, AnyAllocation] = {"crowdbudget": CrowdBudget(), "uniform": RoundRobin()}
    if len(known) < len({(group.cost, group.accuracy) for group in groups}) or len(known) > MOST_COSTS:
        return simple
    hard = tuple(AccuracyAtCost(cost=float(cost), accuracy=accuracy) for cost, accuracy in known.items())
    alike = len(set(known.values())) == 1
    return simple | {"by_value": ByValue(accuracy=groups[0].accuracy) if alike else ByValue(costs=hard)}


def _split_out(split: Split, given: SplitIn, items: int) -> SplitOut:
    return SplitOut(
        groups=_shares(split, apart=given.groups is not None),
        per_item=None if given.costs is None else _per_item(split),
        spent=split.spent,
        left=given.budget - split.spent,
        unasked_items=split.unasked,
        expected_errors=split.expected_errors,
        error_rate=split.expected_errors / items,
        hoeffding_bound=split.hoeffding,
        theorem_2_bound=split.theorem_2(given.doubt),
    )


def _shares(split: Split, *, apart: bool) -> list[GroupShare]:
    """List answers by group as sent, or by cost if items were sent one by one."""
    portions: defaultdict[object, Counter[int]] = defaultdict(Counter)
    of: dict[object, Group] = {}
    for number, (group, n, m, extra) in enumerate(split.parts):
        key = number if apart else group.cost
        of.setdefault(key, group)
        portions[key][m] += extra
        portions[key][n] += group.items - extra
    return [
        GroupShare(
            cost=of[key].cost,
            accuracy=of[key].accuracy,
            items=counts.total(),
            portions=[Portion(answers=n, items=k) for n, k in sorted(counts.items(), reverse=True) if k],
        )
        for key, counts in portions.items()
    ]


def _per_item(split: Split) -> list[int]:
    return [m if at < extra else n for group, n, m, extra in split.parts for at in range(group.items)]


def _guarantees(given: SplitIn, groups: Sequence[Group], items: int) -> Guarantees:
    edge, costs, counts = _arrays(groups)
    return Guarantees(
        edge=edge,
        theorem_1_bound=_theorem_1(given.budget, groups),
        theorem_4_budget=_rounded_up(theorem_4(costs, edge, given.doubt, counts)),
        probability=(1 - given.doubt) ** items,
    )


def _target(target: SplitTarget, groups: Sequence[Group], items: int) -> SplitTargetOut:
    errors = target.errors if target.errors is not None else (target.error_rate or 0.0) * items
    edge, costs, counts = _arrays(groups)
    return SplitTargetOut(
        errors=errors,
        theorem_1_budget=_rounded_up(budget_of_theorem_1(errors, costs, edge, counts)),
        **{name: budget_for(errors, groups, split) for name, split in _SPLITTERS.items()},
    )


def _point(budget: Decimal, groups: Sequence[Group]) -> SplitCurvePoint:
    budget = budget.quantize(SMALLEST_AMOUNT)
    errors = {name: split(budget, groups).expected_errors for name, split in _SPLITTERS.items()}
    return SplitCurvePoint(budget=money(budget), theorem_1_bound=_theorem_1(budget, groups), **errors)


def _theorem_1(budget: Decimal, groups: Sequence[Group]) -> float | None:
    edge, costs, counts = _arrays(groups)
    enough = budget >= sum(group.cost * group.items for group in groups)
    return theorem_1(float(budget), costs, edge, counts) if enough else None


def _arrays(groups: Sequence[Group]) -> tuple[float, list[float], list[int]]:
    """Return the edge on the hardest items, and the costs and numbers of items by group."""
    edge = min(group.accuracy for group in groups) - 0.5
    return edge, [float(group.cost) for group in groups], [group.items for group in groups]


def _rounded_up(amount: float) -> Decimal:
    return Decimal(amount).quantize(SMALLEST_AMOUNT, ROUND_CEILING)


def _reason(take: str, splits: dict[str, Split], items: int, least: float, *, alike: bool) -> ReasonOut:
    names = {"by_value": "the split by value", "crowdbudget": "CrowdBudget", "uniform": "the same number for all"}
    mine = splits[take].expected_errors
    others = [f"{names[name]} has {split.expected_errors:.3g}" for name, split in splits.items() if name != take]
    compared = f"the expected errors are {mine:.3g} of {items:,} items; {' and '.join(others)}"
    sentences = [f"Take {names[take]}: {compared}. No split of this budget has fewer than {least:.3g}"]
    if splits[take].unasked:
        sentences.append(f"{splits[take].unasked:,} items get no answer; a larger budget would help")
    if alike:
        sentences.append(
            "The plan assumes that all items are equally hard; if some are harder, send `groups` with `accuracy`"
        )
    return ReasonOut(code=take.replace("_", "-"), message=". ".join(sentences))


def _curves(plan: SplitPlan) -> SplitCurves:
    return SplitCurves(
        items=plan.items,
        budget=[float(point.budget) for point in plan.curve],
        errors={name: [getattr(point, name) for point in plan.curve] for name in _SPLITTERS},
        theorem_1=[point.theorem_1_bound for point in plan.curve],
        asked=float(plan.budget),
        take=plan.recommended,
        marks=[SplitPoint(name, getattr(plan, name).expected_errors) for name in _SPLITTERS],
        target=plan.target.errors if plan.target else None,
    )
