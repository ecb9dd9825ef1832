"""The default worker model: it chooses between three models by how well they predict the job's own answers."""

from app.policy.worker_models.auto.auto_model import Auto

__all__ = ["Auto"]
