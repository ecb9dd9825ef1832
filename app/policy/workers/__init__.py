"""The worker-model family: what does this worker's vote tell?"""

from app.policy.workers.anonymous import Anonymous
from app.policy.workers.base import WorkerModel

AnyWorkerModel = Anonymous

__all__ = ["Anonymous", "AnyWorkerModel", "WorkerModel"]
