"""Time for tests."""

from datetime import UTC, datetime, timedelta


class Clock:
    """Time that a test moves forward by hand.

    It starts in the far future: a service that a test starts on the same database sweeps by the real time, and must not
    take these leases for expired.
    """

    def __init__(self) -> None:
        self.now = datetime(2100, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
