"""The aggregation family: how the answers of a job become final labels."""

from typing import Annotated

from pydantic import Field

from app.policy.aggregation.base import Aggregation
from app.policy.aggregation.by_model import ByModel
from app.policy.aggregation.dawid_skene import DawidSkene
from app.policy.aggregation.glad import Glad
from app.policy.aggregation.kos import Kos
from app.policy.aggregation.majority import Majority
from app.policy.aggregation.one_coin_em import OneCoinEM
from app.policy.aggregation.weighted_majority import WeightedMajority
from app.policy.core.ballots import Ballots, Consensus

AnyAggregation = Annotated[
    ByModel | Majority | WeightedMajority | OneCoinEM | DawidSkene | Glad | Kos, Field(discriminator="kind")
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
    "OneCoinEM",
    "WeightedMajority",
]
