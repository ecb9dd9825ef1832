"""The clock as an argument: a use case reads it after it has got its lock."""

from collections.abc import Callable
from datetime import datetime

Clock = Callable[[], datetime]
