"""The worker-model family: what does a worker's answer say about the item and the worker?"""

from typing import Annotated

from pydantic import Field

from app.policy.worker_models.anonymous import Anonymous
from app.policy.worker_models.auto import Auto
from app.policy.worker_models.base import WorkerModel
from app.policy.worker_models.confusion import Confusion
from app.policy.worker_models.number_model import NumberModel
from app.policy.worker_models.one_coin import OneCoin
from app.policy.worker_models.spam_filter import SpamFilter
from app.policy.worker_models.tiers import Tiers
from app.policy.worker_models.two_coin import TwoCoin
from app.policy.worker_models.weighted import Weighted

AnyWorkerModel = Annotated[
    Anonymous | Tiers | SpamFilter | Weighted | OneCoin | TwoCoin | Confusion | Auto | NumberModel,
    Field(discriminator="kind"),
]

__all__ = [
    "Anonymous",
    "AnyWorkerModel",
    "Auto",
    "Confusion",
    "NumberModel",
    "OneCoin",
    "SpamFilter",
    "Tiers",
    "TwoCoin",
    "Weighted",
    "WorkerModel",
]
