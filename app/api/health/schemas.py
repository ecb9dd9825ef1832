"""Health on the wire."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field


class Health(BaseModel):
    """The process is alive."""

    status: Annotated[Literal["ok"], Field(description="Always `ok`")]


class Readiness(BaseModel):
    """The service can take requests."""

    status: Annotated[Literal["ready"], Field(description="Always `ready`")]
    revision: Annotated[str | None, Field(description="The revision of the database's schema")]
