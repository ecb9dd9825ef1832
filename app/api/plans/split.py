"""Plan how many answers each item gets when items cost differently."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal

from fastapi import APIRouter, Response

from app.api.offers import PlanOut, PromiseOut
from app.api.plans.apart import apart
from app.api.plans.forms import Form, in_form, plan_at
from app.api.plans.split_schemas import (
    MOST_DIFFERENT,
    CurvePoint,
    GroupShare,
    Guarantees,
    Portion,
    SplitIn,
    SplitOut,
    SplitPlan,
    Wanted,
    WantedOut,
)
from app.api.wire import ReasonOut, money
from app.errors import FieldError, InvalidInput
from app.plots.split import Curves, Mark, painted
from app.policy.allocation import CrowdBudget, RoundRobin
from app.policy.planning.crowdbudget import budget_of_theorem_1, theorem_1, theorem_4
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

router = APIRouter()

_POINTS = 24  # of the curve
_BEYOND = 2  # times the budget: where the curve ends
_SAME = 1e-9  # expected errors that differ by less are equal
_RUN_BY_JOBS = {"crowdbudget": CrowdBudget(), "uniform": RoundRobin()}
_MOST_LABELS = 10_000  # of an item of a job
_SPLITTERS: dict[str, Splitter] = {"uniform": evenly, "crowdbudget": by_crowdbudget, "better": by_worth}


@plan_at(router, "/split", summary="Split a budget between items of different cost", shows=SplitPlan)
async def plan_split(given: SplitIn, form: Form) -> Response:
    """Use it before a job whose items cost differently, when the number of answers per item must be fixed in advance.

    CrowdBudget (Tran-Thanh et al., AAMAS 2013) gives cheap items more answers than dear ones. The plan shows it beside
    an equal number for all, and beside a split by what each answer is worth, which knows how hard the items of each
    group are: how many answers each item gets, what that costs, how many items will be wrong, and what can be promised.
    """
    groups = given.in_groups()
    _refuse_what_buys_nothing(given, groups)
    plan = await apart(_planned, given, groups)
    return await in_form(form, plan, painted(_curves(plan)))


def _refuse_what_buys_nothing(given: SplitIn, groups: Sequence[Group]) -> None:
    cheapest = min(group.cost for group in groups)
    if given.budget < cheapest:
        wrong = FieldError("#/budget", f"Must be at least {cheapest:f}, which one answer on the cheapest item costs")
        raise InvalidInput("The budget does not buy a single answer", errors=(wrong,))
    different = len({group.cost for group in groups})
    if different > MOST_DIFFERENT:
        wrong = FieldError("#/costs", f"May have {MOST_DIFFERENT} different costs, not {different}; round them")
        raise InvalidInput("There are too many different costs", errors=(wrong,))


def _planned(given: SplitIn, groups: Sequence[Group]) -> SplitPlan:
    splits = {name: split(given.budget, groups) for name, split in _SPLITTERS.items()}
    kinds = merged(groups)
    items = sum(group.items for group in groups)
    least = errors_at_least(given.budget, kinds)
    take = min(splits, key=lambda name: round(splits[name].expected_errors / items / _SAME))
    shown = {name: _shown(split, given, items) for name, split in splits.items()}
    return SplitPlan(
        items=items,
        budget=given.budget,
        take=take,
        reason=_reason(take, splits, items, least, alike=len({group.accuracy for group in groups}) == 1),
        **shown,
        no_split_below=least,
        guarantees=_guarantees(given, kinds, items),
        wanted=_wanted(given.wanted, kinds, items) if given.wanted else None,
        curve=[_point(given.budget * _BEYOND * step / _POINTS, kinds) for step in range(1, _POINTS + 1)],
        offer=_offer(given.budget, shown, items),
    )


def _offer(budget: Decimal, shown: dict[str, SplitOut], items: int) -> PlanOut | None:
    """What a job can do by itself: as CrowdBudget, or in turns; whichever expects fewer errors."""
    take = min(_RUN_BY_JOBS, key=lambda name: shown[name].expected_errors)
    split = shown[take]
    portions = [portion for group in split.groups for portion in group.portions]
    most = max(portion.answers for portion in portions)
    if not 1 <= most <= _MOST_LABELS:
        return None
    promise = PromiseOut(
        cost_per_item=money(split.spent / items),
        labels_per_item=sum(portion.answers * portion.items for portion in portions) / items,
        accuracy=1 - split.error_rate,
    )
    limits = {"requirement": Count(labels=most), "max_votes_per_label": most, "budget": budget}
    return PlanOut.by_votes("split", promise, allocation=_RUN_BY_JOBS[take], **limits)


def _shown(split: Split, given: SplitIn, items: int) -> SplitOut:
    return SplitOut(
        groups=_shares(split, apart=given.groups is not None),
        per_item=None if given.costs is None else _per_item(split),
        spent=split.spent,
        left=given.budget - split.spent,
        unasked=split.unasked,
        expected_errors=split.expected_errors,
        error_rate=split.expected_errors / items,
        hoeffding=split.hoeffding,
        theorem_2=split.theorem_2(given.doubt),
    )


def _shares(split: Split, *, apart: bool) -> list[GroupShare]:
    """By group as sent, or by cost where items were sent one by one."""
    portions: defaultdict[object, Counter[int]] = defaultdict(Counter)
    of: dict[object, Group] = {}
    for number, (group, n, m, lucky) in enumerate(split.parts):
        key = number if apart else group.cost
        of.setdefault(key, group)
        portions[key][m] += lucky
        portions[key][n] += group.items - lucky
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
    return [m if at < lucky else n for group, n, m, lucky in split.parts for at in range(group.items)]


def _guarantees(given: SplitIn, groups: Sequence[Group], items: int) -> Guarantees:
    edge, costs, counts = _arrays(groups)
    return Guarantees(
        edge=edge,
        theorem_1=_theorem_1(given.budget, groups),
        theorem_4_budget=_rounded_up(theorem_4(costs, edge, given.doubt, counts)),
        probability=(1 - given.doubt) ** items,
    )


def _wanted(wanted: Wanted, groups: Sequence[Group], items: int) -> WantedOut:
    errors = wanted.errors if wanted.errors is not None else (wanted.error_rate or 0.0) * items
    edge, costs, counts = _arrays(groups)
    return WantedOut(
        errors=errors,
        theorem_1=_rounded_up(budget_of_theorem_1(errors, costs, edge, counts)),
        **{name: budget_for(errors, groups, split) for name, split in _SPLITTERS.items()},
    )


def _point(budget: Decimal, groups: Sequence[Group]) -> CurvePoint:
    budget = budget.quantize(SMALLEST_AMOUNT)
    errors = {name: split(budget, groups).expected_errors for name, split in _SPLITTERS.items()}
    return CurvePoint(budget=money(budget), theorem_1=_theorem_1(budget, groups), **errors)


def _theorem_1(budget: Decimal, groups: Sequence[Group]) -> float | None:
    edge, costs, counts = _arrays(groups)
    enough = budget >= sum(group.cost * group.items for group in groups)
    return theorem_1(float(budget), costs, edge, counts) if enough else None


def _arrays(groups: Sequence[Group]) -> tuple[float, list[float], list[int]]:
    """The edge on the hardest items, and costs and items by group."""
    edge = min(group.accuracy for group in groups) - 0.5
    return edge, [float(group.cost) for group in groups], [group.items for group in groups]


def _rounded_up(amount: float) -> Decimal:
    return Decimal(amount).quantize(SMALLEST_AMOUNT, ROUND_CEILING)


def _reason(take: str, splits: dict[str, Split], items: int, least: float, *, alike: bool) -> ReasonOut:
    mine = splits[take].expected_errors
    others = [f"{name} {split.expected_errors:.4g}" for name, split in splits.items() if name != take]
    standing = f"of {items} items it expects {mine:.4g} wrong, {' and '.join(others)}"
    told = [f"take {take}: {standing}; no split of this budget expects fewer than {least:.4g}"]
    if splits[take].unasked:
        told.append(f"{splits[take].unasked} items get no answer: a larger budget would help")
    if alike:
        told.append(
            "all items are taken to be equally hard; where some are harder, send `groups` with an `accuracy` each"
        )
    return ReasonOut(code=take, message=". ".join(f"{each[0].upper()}{each[1:]}" for each in told))


def _curves(plan: SplitPlan) -> Curves:
    return Curves(
        items=plan.items,
        budget=[float(point.budget) for point in plan.curve],
        errors={name: [getattr(point, name) for point in plan.curve] for name in _SPLITTERS},
        theorem_1=[point.theorem_1 for point in plan.curve],
        asked=float(plan.budget),
        take=plan.take,
        marks=[Mark(name, getattr(plan, name).expected_errors) for name in _SPLITTERS],
        wanted=plan.wanted.errors if plan.wanted else None,
    )
