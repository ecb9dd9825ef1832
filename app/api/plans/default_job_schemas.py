"""What a default job would reach, as the plans show it: the same figures in every plan."""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, AliasChoices, BaseModel, Field

from app.api.http.common_schemas import CostIn, Share, money
from app.api.plans.forecast_schemas import CostRangeOut, CountRangeOut, RangeOut, job_outcome_out
from app.api.plans.plan_schemas import PlanKind, PlanOut, PromiseOut
from app.policy.core.text import Label
from app.policy.job_policy import all_different
from app.simulation.job_forecast import INTERVAL_PROBABILITY, Forecast
from app.use_cases.plans.forecast_default_job import DefaultJobRequest

_OFFERED = ("requirement", "worker_model", "aggregation", "min_labels", "max_labels", "max_votes_per_label")

JobKind = Literal["default", "counted-votes"]

LabelsOfPlan = Annotated[
    tuple[Label, ...],
    Field(min_length=2, max_length=100, description="The labels that workers choose from; counted votes know two"),
    AfterValidator(all_different),
]
AnswerCost = Annotated[
    CostIn,
    Field(validation_alias=AliasChoices("answer_cost", "cost"), description="What one answer costs"),
]
OfferedJob = Annotated[
    JobKind,
    Field(
        description="Which kind of job is offered: `default`, or `counted-votes` (`anonymous` and `majority`), "
        "which the other figures of this plan are of"
    ),
]
_NEARLY = 0.02  # short of what is asked, and not worth a sentence
TWO_LABELS = ("yes", "no")
ONE = Decimal(1)


class DefaultJobOut(BaseModel):
    """How a default job would end for the same request. The plan `forecast` gives the same figures."""

    requirement: Annotated[dict[str, str | float], Field(description="The requirement of the job")]
    items: Annotated[int, Field(description="Items of the job")]
    interval_probability: Annotated[
        Share, Field(description="The probability with which each interval contains the outcome")
    ]
    answers: Annotated[CountRangeOut, Field(description="Answers that are paid for")]
    cost: Annotated[CostRangeOut, Field(description="What these answers cost")]
    resolved: Annotated[CountRangeOut, Field(description="Items that get a label")]
    accuracy: Annotated[
        RangeOut | None,
        Field(description="The share of resolved items whose label is right; null if possibly none is resolved"),
    ]
    message: Annotated[str, Field(description="Which kind of job these figures are of, and which the others")]


def default_job_out(request: DefaultJobRequest, found: Forecast, *, crowd_known: bool) -> DefaultJobOut:
    told = job_outcome_out(found.end)
    crowd = "the crowd of your prior" if crowd_known else "a crowd such as those of public data sets"
    return DefaultJobOut(
        requirement=request.policy.requirement.model_dump(mode="json"),
        items=found.items,
        interval_probability=INTERVAL_PROBABILITY,
        answers=told.answers,
        cost=told.cost,
        resolved=told.resolved,
        accuracy=told.accuracy,
        message=f"`default_job` is a default job, which learns who is good, with {crowd}. All other figures of "
        "this plan are of a job that counts votes of equally good workers (`anonymous` and `majority`)."
        f"{_shortfall(request, found)}",
    )


def _shortfall(request: DefaultJobRequest, found: Forecast) -> str:
    """A sentence for those who would rely on labels that are right less often than they ask."""
    accuracy = found.end.accuracy
    if accuracy is None or accuracy.expected > request.accuracy - _NEARLY:
        return ""
    return (
        " Without gold such a crowd errs together more often than its answers show: expect about "
        f"{accuracy.expected:.2f} of the labels to be right, not {request.accuracy:g}. With 50 gold items the job "
        "finds out, and asks more or gives items up."
    )


def default_offer(kind: PlanKind, request: DefaultJobRequest, found: Forecast) -> PlanOut:
    """Offer a default job, with what its forecast promises."""
    end = found.end
    return PlanOut(
        kind=kind,
        **{name: getattr(request.policy, name) for name in _OFFERED},
        promise=PromiseOut(
            cost_per_item=money(end.cost.expected / found.items),
            answers_per_item=end.labels.expected / found.items,
            accuracy=None if end.accuracy is None else end.accuracy.expected,
            resolved=end.resolved.expected / found.items,
        ),
    )
