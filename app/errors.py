"""Every way in which a request can fail, with its HTTP status and its stable code.

    SufficeError
    ├── StartupError            the service cannot start (command line only)
    ├── JobUnknown              404 job-unknown
    ├── ItemUnknown             404 item-unknown
    ├── AssignmentUnknown       404 assignment-unknown
    ├── WorkerUnknown           404 worker-unknown
    ├── OperationUnknown        404 operation-unknown
    ├── AuditUnknown            404 audit-unknown
    ├── CertificateMissing      404 certificate-missing
    ├── NotAcceptable           406 not-acceptable
    ├── RequestTimeout          408 request-timeout
    ├── ItemConflict            409 item-conflict
    ├── ItemHasAnswers          409 item-has-answers
    ├── ItemAssigned            409 item-assigned
    ├── AnswerConflict          409 answer-conflict
    ├── WorkerBlocked           409 worker-blocked
    ├── ItemClosed              409 item-closed
    ├── BudgetExhausted         409 budget-exhausted
    ├── BudgetBelowCommitted    409 budget-below-committed
    ├── LeaseExpired            409 lease-expired
    ├── AssignmentEnded         409 assignment-ended
    ├── NothingToReplay         409 nothing-to-replay
    ├── AuditRunning            409 audit-running
    ├── AuditFinished           409 audit-finished
    ├── NothingToAudit          409 nothing-to-audit
    ├── IdempotencyConflict     409 idempotency-conflict
    ├── TooLarge                413 too-large
    ├── UnsupportedMediaType    415 unsupported-media-type
    ├── LabelUnknown            422 label-unknown
    ├── AnswerKindWrong         422 answer-kind
    ├── InvalidInput            422 invalid-input
    │   ├── BodyUnreadable      422 body-unreadable
    │   ├── UnknownParameter    422 unknown-parameter
    │   └── CursorInvalid       422 cursor-invalid
    ├── TooSlow                 503 too-slow
    └── Unavailable             503 unavailable

The first line of a class's docstring is the title of its problem; `detail` says what happened in this request. "There
is no work at the moment" is an ordinary response with a reason, not an error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

MOST_ERRORS = 20  # wrong fields that one response lists
_LONGEST = 80  # characters of a value that a message quotes


@dataclass(frozen=True)
class FieldError:
    """One wrong field: a JSON pointer into the body or a parameter's name, and a sentence that says what is valid."""

    pointer: str
    message: str


def shortened(value: object, *, quoted: bool = True) -> str:
    """Format a value for a message: quoted, and shortened if it is long.

    >>> shortened("cat"), shortened("c" * 1000)[-8:], shortened(7, quoted=False)
    ("'cat'", "cccccc…'", '7')
    """
    text = str(value)
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}…"
    return repr(text) if quoted else text


class SufficeError(Exception):
    """The service has an internal error."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal-error"
    headers: ClassVar[dict[str, str]] = {}  # of the response, in addition to those of every problem

    def __init__(self, detail: str, *, errors: tuple[FieldError, ...] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = errors

    @classmethod
    def title(cls) -> str:
        return (cls.__doc__ or cls.__name__).splitlines()[0]


class StartupError(SufficeError):
    """The service cannot start."""


class JobUnknown(SufficeError):
    """There is no such job."""

    status, code = 404, "job-unknown"


class ItemUnknown(SufficeError):
    """The job has no such item."""

    status, code = 404, "item-unknown"


class AssignmentUnknown(SufficeError):
    """The job has no such assignment."""

    status, code = 404, "assignment-unknown"


class WorkerUnknown(SufficeError):
    """The job has no such worker."""

    status, code = 404, "worker-unknown"


class OperationUnknown(SufficeError):
    """The job has no such operation."""

    status, code = 404, "operation-unknown"


class AuditUnknown(SufficeError):
    """The job has no such audit."""

    status, code = 404, "audit-unknown"


class CertificateMissing(SufficeError):
    """No audit of the job has proved its claim."""

    status, code = 404, "certificate-missing"


class LabelUnknown(SufficeError):
    """The label is not one of the job's labels."""

    status, code = 422, "label-unknown"


class AnswerKindWrong(SufficeError):
    """The answer is not of the kind that the job takes."""

    status, code = 422, "answer-kind"


class ItemConflict(SufficeError):
    """An item with this key exists with other content."""

    status, code = 409, "item-conflict"


class ItemHasAnswers(SufficeError):
    """The item has answers, so it cannot be changed or deleted."""

    status, code = 409, "item-has-answers"


class ItemAssigned(SufficeError):
    """A worker holds the item, so it cannot be changed or deleted now."""

    status, code = 409, "item-assigned"


class AnswerConflict(SufficeError):
    """The worker has already answered this item differently."""

    status, code = 409, "answer-conflict"


class WorkerBlocked(SufficeError):
    """The worker is blocked, so the answer is not taken."""

    status, code = 409, "worker-blocked"


class ItemClosed(SufficeError):
    """The item takes no more answers."""

    status, code = 409, "item-closed"


class BudgetExhausted(SufficeError):
    """The job's budget does not cover this answer."""

    status, code = 409, "budget-exhausted"


class BudgetBelowCommitted(SufficeError):
    """The budget would be less than what is spent and reserved."""

    status, code = 409, "budget-below-committed"


class LeaseExpired(SufficeError):
    """The lease of the assignment has expired."""

    status, code = 409, "lease-expired"


class AssignmentEnded(SufficeError):
    """The assignment was already answered or returned."""

    status, code = 409, "assignment-ended"


class NothingToReplay(SufficeError):
    """The job has no answers that other policies could be compared on."""

    status, code = 409, "nothing-to-replay"


class AuditRunning(SufficeError):
    """An audit of the job is running, and only one can run at a time."""

    status, code = 409, "audit-running"


class AuditFinished(SufficeError):
    """The audit is decided and takes no more answers."""

    status, code = 409, "audit-finished"


class NothingToAudit(SufficeError):
    """The job has no labels that could be audited."""

    status, code = 409, "nothing-to-audit"


class NotAcceptable(SufficeError):
    """The response is not available in a format that the Accept header allows."""

    status, code = 406, "not-acceptable"
    headers: ClassVar[dict[str, str]] = {"Vary": "Accept"}


class IdempotencyConflict(SufficeError):
    """The idempotency key was used for another request."""

    status, code = 409, "idempotency-conflict"


class RequestTimeout(SufficeError):
    """The body of the request did not arrive in time."""

    status, code = 408, "request-timeout"
    headers: ClassVar[dict[str, str]] = {"Connection": "close"}


class TooLarge(SufficeError):
    """The body of the request is too large."""

    status, code = 413, "too-large"


class UnsupportedMediaType(SufficeError):
    """The body is in a format that the operation does not read."""

    status, code = 415, "unsupported-media-type"


class InvalidInput(SufficeError):
    """Some fields of the request are not valid."""

    status, code = 422, "invalid-input"

    @classmethod
    def at(cls, pointer: str, message: str) -> "InvalidInput":
        """Create the error for one wrong field."""
        return cls.of([FieldError(pointer, message)])

    @classmethod
    def of(cls, errors: Sequence[FieldError]) -> "InvalidInput":
        """Create the error for one or more wrong fields; `detail` names the first, `errors` the first 20.

        >>> InvalidInput.of([FieldError("#/cost", "Must be more than 0"), FieldError("#/key", "Is missing")]).detail
        '#/cost: Must be more than 0 (and 1 more)'
        """
        first, more = errors[0], f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        return cls(f"{first.pointer}: {first.message}{more}", errors=tuple(errors[:MOST_ERRORS]))


class BodyUnreadable(InvalidInput):
    """The body of the request cannot be read as JSON."""

    code = "body-unreadable"


class UnknownParameter(InvalidInput):
    """The operation does not have this query parameter."""

    code = "unknown-parameter"


class CursorInvalid(InvalidInput):
    """The cursor does not come from a page of this list."""

    code = "cursor-invalid"


class TooSlow(SufficeError):
    """The service could not answer in time."""

    status, code = 503, "too-slow"
    headers: ClassVar[dict[str, str]] = {"Retry-After": "1"}


class Unavailable(SufficeError):
    """The service cannot reach its database at the moment."""

    status, code = 503, "unavailable"
    headers: ClassVar[dict[str, str]] = {"Retry-After": "1"}
