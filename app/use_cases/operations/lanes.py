"""The kinds of background work, and how much of each runs at the same time."""

from sqlalchemy.ext.asyncio import AsyncEngine

from app.use_cases.clock import Clock
from app.use_cases.job_locks import JobLocks
from app.use_cases.operations.forecast import ForecastHandler
from app.use_cases.operations.record_history import HistoryHandler
from app.use_cases.operations.recount import RecountHandler
from app.use_cases.operations.refit import RefitHandler
from app.use_cases.operations.replay import ReplayHandler
from app.use_cases.operations.reprice import RepriceHandler
from app.use_cases.operations.runner import BackgroundRunner, Lane
from app.use_cases.operations.worker_process import WorkerProcess

_REFITS = 2  # jobs that are refitted at the same time
CONNECTIONS = _REFITS + 3  # one each for forecasts, for replays and for the sweep


def create_runner(database: AsyncEngine, clock: Clock, job_locks: JobLocks) -> BackgroundRunner:
    """Build the runner with all its handlers; `database` should have `CONNECTIONS` connections.

    Recounts, imported answers, new prices and refits share a lane, in this order: a refit from votes that will change
    is wasted.
    """
    refits, forecasts, replays = WorkerProcess(), WorkerProcess(), WorkerProcess()
    return BackgroundRunner(
        database,
        [
            Lane(
                "upkeep",
                [
                    RecountHandler(clock, job_locks),
                    HistoryHandler(clock, job_locks),
                    RepriceHandler(clock, job_locks),
                    RefitHandler(clock, refits),
                ],
                refits,
                jobs_at_once=_REFITS,
            ),
            Lane("forecast", [ForecastHandler(clock, forecasts)], forecasts, jobs_at_once=1, sweep_rests=True),
            Lane("replay", [ReplayHandler(clock, replays)], replays, jobs_at_once=1),
        ],
    )
