"""The real application in a separate thread, for tests that are not coroutines."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

import httpx
import uvloop
from fastapi import FastAPI

from app.main import create_app, shut_down
from app.settings import Settings
from app.use_cases.work.held_assignments import sweep

T = TypeVar("T")


class InProcess:
    """An application whose database connections belong to this thread's loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, app: FastAPI) -> None:
        self.loop = loop
        self.app = app
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://suffice", timeout=30)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def get(self, path: str, **query: object) -> Any:
        response = self.run(self.http.get(path, params=query))
        assert response.status_code == 200, response.text
        return response.json()

    def post(self, path: str, body: object) -> httpx.Response:
        return self.run(self.http.post(path, json=body))

    def post_at_once(self, requests: list[tuple[str, object]]) -> list[httpx.Response]:
        async def together() -> list[httpx.Response]:
            return await asyncio.gather(*(self.http.post(path, json=body) for path, body in requests))

        return self.run(together())

    def sweep(self, now: datetime) -> None:
        self.run(sweep(self.app.state.services.database, now))

    async def close(self) -> None:
        await self.http.aclose()
        await shut_down(self.app)


@contextmanager
def in_process(database_url: str, clock: object) -> Iterator[InProcess]:
    loop = uvloop.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def start() -> InProcess:
        settings = Settings(database_url=database_url, database_connections=5, log_level="error")
        return InProcess(loop, create_app(settings, clock))

    service = asyncio.run_coroutine_threadsafe(start(), loop).result(60)
    try:
        yield service
    finally:
        service.run(service.close())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
