"""The clock as an argument, because a use case must read it after it has its lock."""

from collections.abc import Callable
from datetime import datetime

Clock = Callable[[], datetime]
