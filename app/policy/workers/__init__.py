"""The worker-model family: what does this worker's vote tell?"""

from typing import Annotated

from pydantic import Field

from app.policy.workers.anonymous import Anonymous
from app.policy.workers.auto import Auto
from app.policy.workers.base import WorkerModel
from app.policy.workers.confusion import Confusion
from app.policy.workers.one_coin import OneCoin
from app.policy.workers.spam_filter import SpamFilter
from app.policy.workers.tiers import Tiers
from app.policy.workers.two_coin import TwoCoin
from app.policy.workers.weighted import Weighted

AnyWorkerModel = Annotated[
    Anonymous | Tiers | SpamFilter | Weighted | OneCoin | TwoCoin | Confusion | Auto, Field(discriminator="kind")
]

__all__ = [
    "Anonymous",
    "AnyWorkerModel",
    "Auto",
    "Confusion",
    "OneCoin",
    "SpamFilter",
    "Tiers",
    "TwoCoin",
    "Weighted",
    "WorkerModel",
]
