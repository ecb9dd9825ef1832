"""The aggregation family: what is the final label, and how sure are we?"""

from typing import Annotated

from pydantic import Field

from app.policy.aggregation.ballots import Ballots, Consensus
from app.policy.aggregation.base import Aggregation
from app.policy.aggregation.by_model import ByModel
from app.policy.aggregation.dawid_skene import DawidSkene
from app.policy.aggregation.glad import Glad
from app.policy.aggregation.kos import Kos
from app.policy.aggregation.majority import Majority
from app.policy.aggregation.one_coin import OneCoin
from app.policy.aggregation.weighted import Weighted

AnyAggregation = Annotated[
    ByModel | Majority | Weighted | OneCoin | DawidSkene | Glad | Kos, Field(discriminator="kind")
]

__all__ = [
    "Aggregation",
    "AnyAggregation",
    "Ballots",
    "ByModel",
    "Consensus",
    "DawidSkene",
    "Glad",
    "Kos",
    "Majority",
    "OneCoin",
    "Weighted",
]
