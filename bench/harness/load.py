"""A load generator that is lighter than what it measures: raw HTTP/1.1 over kept-alive connections."""

import asyncio
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

import uvloop

END_OF_HEAD = b"\r\n\r\n"
LENGTH = b"content-length: "


@dataclass
class Measured:
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)  # seconds
    bodies: list[bytes] = field(default_factory=list)
    refused: int = 0

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds

    def percentile(self, share: float) -> float:
        """In milliseconds."""
        return sorted(self.latencies)[min(int(share * len(self.latencies)), len(self.latencies) - 1)] * 1000


class Connection(asyncio.Protocol):
    """Sends the next request as soon as the answer to the last one is whole."""

    def __init__(self, requests: deque[bytes], measured: Measured, done: asyncio.Future[None]) -> None:
        self.requests, self.measured, self.done = requests, measured, done
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.send()

    def send(self) -> None:
        if not self.requests:
            self.transport.close()
            return
        self.sent_at = time.perf_counter()
        self.transport.write(self.requests.popleft())

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, found, body = self.received.partition(END_OF_HEAD)
        if not found:
            return
        lowered = head.lower()
        start = lowered.index(LENGTH) + len(LENGTH)
        length = int(lowered[start:].split(b"\r\n", 1)[0])
        if len(body) < length:
            return
        self.measured.latencies.append(time.perf_counter() - self.sent_at)
        self.measured.bodies.append(body)
        self.measured.refused += not head.startswith(b"HTTP/1.1 2")
        self.received = b""
        self.send()

    def connection_lost(self, _error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


def request(port: int, path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def drive(port: int, requests: Iterable[bytes], connections: int) -> Measured:
    """Send all requests over this many connections, and return the measurements."""
    return uvloop.run(_drive(port, deque(requests), connections))


async def _drive(port: int, requests: deque[bytes], connections: int) -> Measured:
    loop, measured = asyncio.get_running_loop(), Measured()
    done = [loop.create_future() for _ in range(connections)]
    started = time.perf_counter()
    for future in done:
        await loop.create_connection(lambda future=future: Connection(requests, measured, future), "127.0.0.1", port)
    await asyncio.gather(*done)
    measured.seconds = time.perf_counter() - started
    return measured
