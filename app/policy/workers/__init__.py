"""The worker-model family: what does this worker's vote tell?"""

from app.policy.workers.anonymous import Anonymous

AnyWorkerModel = Anonymous

__all__ = ["Anonymous", "AnyWorkerModel"]
