"""Operations: long work on a job that can be watched."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

OperationState = Literal["waiting", "running", "done", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Long work on a job, with its progress and its result."""

    operation_id: int
    kind: str
    state: OperationState = "waiting"
    progress: float = 0.0
    outcome: dict[str, Any] | None = None
    created_at: datetime
    finished_at: datetime | None = None
