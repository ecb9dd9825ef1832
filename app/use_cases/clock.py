"""Time as an argument: what a use case asks once it has its lock."""

from collections.abc import Callable
from datetime import datetime

Clock = Callable[[], datetime]
