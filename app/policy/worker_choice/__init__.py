"""The worker-choice family: whom to ask, and whom not to ask any more."""

from typing import Annotated

from pydantic import Field

from app.policy.worker_choice.base import CandidateWorkers, WorkerChoice
from app.policy.worker_choice.pair import Pair
from app.policy.worker_choice.pull import Pull
from app.policy.worker_choice.ucb import UpperConfidence

AnyWorkerChoice = Annotated[Pull | UpperConfidence | Pair, Field(discriminator="kind")]

__all__ = ["AnyWorkerChoice", "CandidateWorkers", "Pair", "Pull", "UpperConfidence", "WorkerChoice"]
