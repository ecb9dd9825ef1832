"""Refuse a job whose limits no item can meet."""

from pydantic import ValidationError

from app.errors import FieldError, InvalidInput
from app.policy.job_policy import JobPolicy, check_limits


def refuse_impossible_limits(policy: JobPolicy) -> None:
    """Refuse a `max_labels` or `max_votes_per_label` with which every item would be given up.

    This takes a few milliseconds, or a few hundred with 1,000 labels. Call it once per new policy, off the event loop.
    """
    try:
        check_limits(policy)
    except ValidationError as error:
        raise InvalidInput.of([FieldError(f"#/{one['loc'][0]}", one["msg"]) for one in error.errors()]) from None
