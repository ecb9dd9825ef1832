"""Audits and certificates on the wire. Field names are a contract: other programs rely on them."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from app.api.http.common_schemas import AnyJson, RequestBody, Share
from app.api.http.pagination import NextCursor
from app.policy.core.text import Key, Label
from app.policy.quality.audit import AuditState

MOST_AUDIT_ITEMS = 10_000
MOST_AUDIT_ANSWERS = 1000


class AuditIn(RequestBody):
    """A claim to test by checking a random sample of the job's labels."""

    min_accuracy: Annotated[
        float, Field(gt=0, lt=1, description="The claim: at least this share of the labels is right")
    ] = 0.95
    confidence: Annotated[
        float,
        Field(ge=0.5, le=0.9999, description="How sure a decision must be: at most 1 - confidence are wrong"),
    ] = 0.95
    max_items: Annotated[int, Field(ge=1, le=MOST_AUDIT_ITEMS, description="The most items that may be checked")] = 1000


class AccuracyOut(BaseModel):
    """How often the labels are right, with an interval; that of an audit holds at every look."""

    estimate: Annotated[
        Share, Field(description="The share of right labels: among those checked, or as gold items predict it")
    ]
    low: Annotated[
        Share,
        Field(description="The lower end. The interval has two ends, so it may lie just below a claim that is proven"),
    ]
    high: Annotated[Share, Field(description="The upper end")]
    confidence: Annotated[float, Field(description="How sure the interval is")]


class AuditOut(BaseModel):
    """An audit: its claim, and what the checked items show so far."""

    id: Annotated[str, Field(description="The audit's id: 1, 2, 3 ... within the job")]
    state: Annotated[
        AuditState,
        Field(description="`exhausted`: all items of the sample are checked, and they decide nothing"),
    ]
    min_accuracy: Annotated[float, Field(description="The claim: at least this share of the labels is right")]
    confidence: Annotated[float, Field(description="How sure the decision is")]
    max_items: Annotated[int, Field(description="The most items that may be checked")]
    population: Annotated[
        int,
        Field(
            description="The labels that the claim is about: those of resolved items when the audit began, without "
            "gold and without those that trusted workers gave"
        ),
    ]
    checked: Annotated[int, Field(description="Items whose right label is known by this audit")]
    right: Annotated[int, Field(description="Of those, the ones whose label was right when the audit began")]
    accuracy: Annotated[AccuracyOut | None, Field(description="How often the labels are right; null before the first")]
    label_changes: Annotated[
        int,
        Field(description="How often a label of the job came, changed or went since the audit began"),
    ]
    digest: Annotated[str, Field(description="SHA-256 of the sorted lines `item,label` of the population")]
    created_at: Annotated[datetime, Field(description="When the audit began")]
    finished_at: Annotated[datetime | None, Field(description="When it was decided; null while it runs")]


class AuditsOut(BaseModel):
    """A page of audits."""

    audits: Annotated[list[AuditOut], Field(description="The newest first")]
    next_cursor: NextCursor


class AuditItemOut(BaseModel):
    """An item of the sample. Our label is shown only after the item is checked."""

    position: Annotated[int, Field(description="The place in the random order: 1, 2, 3 ...")]
    item: Annotated[str, Field(description="The item's key")]
    payload: Annotated[AnyJson, Field(description="What the requester said about the item")]
    label: Annotated[str | None, Field(description="The label when the audit began; null until the item is checked")]
    answer: Annotated[str | None, Field(description="The right label; null until the item is checked")]
    right: Annotated[bool | None, Field(description="Whether the two are the same; null until the item is checked")]
    worker: Annotated[str | None, Field(description="The trusted worker who checked it; null if it was sent by hand")]
    answered_at: Annotated[datetime | None, Field(description="When it was checked; null until then")]


class AuditItemsOut(BaseModel):
    """A page of the sample of an audit."""

    items: Annotated[list[AuditItemOut], Field(description="In the random order of the sample")]
    next_cursor: NextCursor


class AuditAnswerIn(RequestBody):
    """The right label of an item."""

    item: Annotated[Key, Field(description="The key of an item of the sample")]
    label: Annotated[Label, Field(description="The right label: one of the job's labels")]


class CertificateOut(BaseModel):
    """What the latest proven audit shows about the labels that it names by their digest."""

    audit: Annotated[str, Field(description="The id of the audit")]
    claim: Annotated[str, Field(description="What is proven, as a sentence")]
    min_accuracy: Annotated[float, Field(description="At least this share of the labels is right")]
    confidence: Annotated[float, Field(description="How sure this is")]
    checked: Annotated[int, Field(description="Items that were checked")]
    right: Annotated[int, Field(description="Of those, the ones whose label is right")]
    population: Annotated[int, Field(description="The labels that the claim is about")]
    accuracy: Annotated[AccuracyOut, Field(description="How often the labels are right")]
    digest: Annotated[str, Field(description="SHA-256 of the sorted lines `item,label` of the population")]
    current: Annotated[bool, Field(description="The job's labels are still those that were audited")]
    method: Annotated[str, Field(description="The statistical method")]
    time: Annotated[datetime, Field(description="When the claim was proven")]


class TrustOut(BaseModel):
    """How far the labels of a job can be trusted."""

    state: Annotated[
        Literal["unverified", "measured", "certified"],
        Field(description="`certified`: the latest audit proved its claim, and the labels are still the same"),
    ]
    claimed: Annotated[
        Share | None, Field(description="How often the labels are expected to be right; null without labels")
    ]
    accuracy: Annotated[AccuracyOut | None, Field(description="How often labels are right; null if it is not measured")]
    by: Annotated[Literal["gold", "audit"] | None, Field(description="What it was measured by")]
    checked: Annotated[int, Field(description="How many items it was measured on")]
    message: Annotated[str, Field(description="A sentence, for people")]


AuditItemFilter = Literal["pending", "checked"]
