"""Refuse a job whose limits no item can meet."""

from pydantic import ValidationError

from app.errors import FieldError, InvalidInput
from app.policy.job_policy import JobPolicy, check_limits


def refuse_impossible_limits(policy: JobPolicy) -> None:
    """Raise InvalidInput naming `max_labels` or `max_votes_per_label` where every item would be given up.

    Pure arithmetic of a few to a few hundred milliseconds (1,000 labels): call it once, when a policy arrives, off the
    event loop.
    """
    try:
        check_limits(policy)
    except ValidationError as error:
        raise InvalidInput.of([FieldError(f"#/{one['loc'][0]}", one["msg"]) for one in error.errors()]) from None
