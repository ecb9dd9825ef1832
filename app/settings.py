"""Settings of the service, read from environment variables."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

_SCHEMES = ("postgresql://", "postgres://")


def _is_postgres(url: str) -> str:
    if not url.startswith(_SCHEMES):
        raise PydanticCustomError("postgres_url", "Must start with postgresql:// or postgres://")
    return url


PostgresUrl = Annotated[str, AfterValidator(_is_postgres)]


class Settings(BaseSettings):
    """Read from the environment: variables `SUFFICE_...`, and `DATABASE_URL`."""

    model_config = SettingsConfigDict(env_prefix="SUFFICE_", populate_by_name=True, env_ignore_empty=True)

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    data_dir: Path = Path("suffice-data")
    database_url: Annotated[PostgresUrl | None, Field(validation_alias="DATABASE_URL")] = None
    database_connections: Annotated[int, Field(ge=1, le=200)] = 10
    max_body_bytes: Annotated[int, Field(ge=1024)] = 4 * 1024**2
    max_answers_bytes: Annotated[int, Field(ge=1024)] = 16 * 1024**2
    max_item_bytes: Annotated[int, Field(ge=1024)] = 64 * 1024**2
    max_import_bytes: Annotated[int, Field(ge=1024)] = 4 * 1024**3
    max_history_answers: Annotated[int, Field(ge=1)] = 10_000_000
    request_seconds: Annotated[float, Field(gt=0)] = 60.0
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    sweep_seconds: Annotated[float, Field(gt=0)] = 1.0
    idempotency_hours: Annotated[float, Field(gt=0, le=24 * 365)] = 24.0
