"""Say why a request gets no assignment: `wait` if that may change, `stop` if there will be no more work."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from math import ceil

from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.audit_sample import Audit
from app.domain.job import Job
from app.domain.money import amount_text
from app.domain.work import NextWork, WorkRequest
from app.domain.worker import UNKNOWN_WORKER, Worker
from app.policy.core.decision import Reason
from app.store.assignments import next_expiry
from app.store.audits import who_may_audit
from app.store.queue import who_finds_open, who_finds_room

_LONGEST_WAIT = timedelta(seconds=30)
_SHORT_WAIT = timedelta(seconds=5)

PAUSED = NextWork(
    "wait",
    Reason(
        "job-paused", "The job is paused. Open assignments can still be answered. Resume the job, or ask again later."
    ),
    retry_after=ceil(_LONGEST_WAIT.total_seconds()),
)


@dataclass(frozen=True)
class NoWork:
    """Explains to the workers of a batch why they got no assignment."""

    job: Job
    workers: Mapping[str, Worker]
    busy: AbstractSet[str]  # workers who could be chosen but hold the most assignments allowed
    queue_is_empty: bool
    now: datetime
    audit: Audit | None = None  # the running audit, if a trusted worker asks

    async def explain(self, connection: AsyncConnection, requests: Sequence[WorkRequest]) -> list[NextWork]:
        """Build the response to each of these requests, none of which got an assignment."""
        workers = {name for one in requests for name in one.workers or (one.worker,)}
        by_worker = await self._by_worker(connection, workers)
        by_worker |= await self._by_auditor(connection, by_worker)
        return [self._response(request, by_worker) for request in requests]

    def _response(self, request: WorkRequest, by_worker: Mapping[str | None, NextWork]) -> NextWork:
        """Return the most favourable result among the workers of a request."""
        if request.workers is None:
            return by_worker[request.worker]
        if not request.workers:
            if not self.job.items or not self.job.open:
                return by_worker[None]
            message = "No worker is registered for this job. Register workers, or list available ones in `workers`."
            return _wait("no-workers", message, _SHORT_WAIT)
        found = [by_worker[name] for name in request.workers]
        waiting = [one for one in found if one.status == "wait"]
        if waiting or len(found) == 1:
            return (waiting or found)[0]
        for code in ("all-resolved", "budget-exhausted"):
            for one in found:
                if one.reason.code == code:
                    return one
        return NextWork("stop", Reason("worker-has-seen-all", _nobody_left(found)))

    async def _by_worker(
        self, connection: AsyncConnection, workers: AbstractSet[str | None]
    ) -> dict[str | None, NextWork]:
        job, found = self.job, dict[str | None, NextWork]()
        for name in workers:
            worker = self._known(name)
            if worker.block is not None:
                why = worker.block["reason"]["message"].rstrip(".")
                message = f"Worker {name!r} is blocked: {why}. Ask other workers."
                found[name] = NextWork("stop", Reason("worker-blocked", message))
            elif worker.low_information is not None:
                found[name] = _low_information(name, worker.low_information["reason"]["message"])
        rest = workers - found.keys()
        if not job.items:
            return found | dict.fromkeys(rest, _wait("no-items", "The job has no items yet. Add items.", _SHORT_WAIT))
        if not job.open:
            message = f"All {job.items:,} items are resolved or given up. Read the results."
            return found | dict.fromkeys(rest, NextWork("stop", Reason("all-resolved", message)))
        return found | await self._why_no_item(connection, rest)

    async def _by_auditor(
        self, connection: AsyncConnection, by_worker: Mapping[str | None, NextWork]
    ) -> dict[str | None, NextWork]:
        """For trusted workers who would be told to stop: items of the audit may come back from others."""
        stopped = {name for name, one in by_worker.items() if name is not None and one.status == "stop"}
        trusted = {name for name in stopped if self._known(name).trusted and self._known(name).block is None}
        if self.audit is None or not trusted:
            return {}
        waiting = await who_may_audit(connection, self.job.job_id, self.audit.audit_id, trusted)
        expiry = await next_expiry(connection, self.job.job_id)
        if expiry is None:
            return {name: self._money_is_short(name, _SHORT_WAIT) for name in waiting}
        message = "Other workers check the remaining items of the audit. Ask again when some have answered."
        return dict.fromkeys(waiting, _wait("audit-leased", message, expiry - self.now))

    async def _why_no_item(
        self, connection: AsyncConnection, workers: AbstractSet[str | None]
    ) -> dict[str | None, NextWork]:
        """Say why workers get no open item: others hold all of them, the money is short, or none is new."""
        if not workers:
            return {}
        job_id, busy = self.job.job_id, workers & self.busy
        rest = workers - busy
        unaffordable = set() if self.queue_is_empty else await who_finds_room(connection, job_id, rest)
        waiting = await who_finds_open(connection, job_id, rest - unaffordable)
        expiry = await next_expiry(connection, job_id) if unaffordable or waiting or busy else None
        until = _SHORT_WAIT if expiry is None else expiry - self.now
        found = {name: self._money_is_short(name, until) for name in unaffordable}
        most = self.job.policy.max_assignments_per_worker
        message = f"Every available worker holds {most} assignments, which is the limit. Wait for their answers."
        found |= dict.fromkeys(busy, _wait("workers-busy", message, until))
        message = "Every open item is already assigned to enough workers. Ask again when some have answered."
        found |= dict.fromkeys(waiting, _wait("all-leased", message, until))
        return found | {name: _seen_all(name) for name in rest - unaffordable - waiting}

    def _money_is_short(self, name: str | None, until: timedelta) -> NextWork:
        """The remaining budget pays for no item of this worker; live assignments may return some money."""
        job = self.job
        left, cheapest = job.remaining or Decimal(0), job.least_cost * self._known(name).price
        short = f"{amount_text(left)} of the budget of {amount_text(job.budget or left)} is left"
        if job.reserved and cheapest <= left + job.reserved:
            message = (
                f"{short}, and {amount_text(job.reserved)} is reserved for open assignments. "
                "Ask again when some are answered or have expired, or raise `budget`."
            )
            return _wait("budget-reserved", message, until)
        what = f"the {job.open:,} open items" if job.open else "an item of the audit"
        message = f"{short}, which does not pay for an answer on {what}. Raise `budget`."
        return NextWork("stop", Reason("budget-exhausted", message))

    def _known(self, name: str | None) -> Worker:
        return self.workers.get(name or "", UNKNOWN_WORKER)


def _low_information(name: str | None, why: str) -> NextWork:
    message = f"Worker {name!r} gets no new work for now. {why.rstrip('.')}. The next refit decides again."
    return _wait("worker-low-information", message, _LONGEST_WAIT)


def _seen_all(name: str | None) -> NextWork:
    message = "Every open item has been answered."
    if name is not None:
        message = f"Worker {name!r} has answered or skipped every open item. Ask other workers."
    return NextWork("stop", Reason("worker-has-seen-all", message))


def _nobody_left(found: Sequence[NextWork]) -> str:
    blocked = sum(one.reason.code == "worker-blocked" for one in found)
    others = f"{len(found) - blocked} have answered or skipped every open item and {blocked} are blocked"
    who = others if blocked else f"all {len(found)} have answered or skipped every open item"
    return f"None of these workers can take an open item: {who}. Ask other workers."


def _wait(code: str, message: str, until: timedelta) -> NextWork:
    seconds = ceil(min(until, _LONGEST_WAIT).total_seconds())
    return NextWork("wait", Reason(code, message), retry_after=max(seconds, 1))
