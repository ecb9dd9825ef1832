"""Cached properties: computed once per object, on frozen objects too, and without a lock between objects."""

import threading
from dataclasses import dataclass

from propcache.api import cached_property
from pydantic import BaseModel, ConfigDict


@dataclass(frozen=True)
class Frozen:
    numbers: tuple[int, ...]

    @cached_property
    def total(self) -> list[int]:
        """The sum."""
        return [sum(self.numbers)]


class FrozenModel(BaseModel):
    model_config = ConfigDict(frozen=True, ignored_types=(cached_property,))

    numbers: tuple[int, ...]

    @cached_property
    def total(self) -> list[int]:
        return [sum(self.numbers)]


def test_computed_once_per_object():
    for kind in (Frozen, FrozenModel):
        one, other = kind(numbers=(1, 2)), kind(numbers=(3, 4))
        assert one.total is one.total
        assert (one.total, other.total) == ([3], [7])


def test_it_is_no_field():
    """Reading the property changes neither equality nor hash nor JSON of a model."""
    read, unread = FrozenModel(numbers=(1, 2)), FrozenModel(numbers=(1, 2))
    assert read.total == [3]
    assert read.model_dump_json() == unread.model_dump_json() == '{"numbers":[1,2]}'
    assert hash(read) == hash(unread)
    assert Frozen.total.__doc__ == "The sum."


def test_one_object_does_not_wait_for_another():
    """While one thread computes a slow object's property, another thread can read another object's property."""
    begun, go_on = threading.Event(), threading.Event()

    class Slow:
        def __init__(self, *, waits: bool) -> None:
            self.waits = waits

        @cached_property
        def answer(self) -> str:
            if self.waits:
                begun.set()
                assert go_on.wait(10)
            return "computed"

    found: list[str] = []
    slow = threading.Thread(target=lambda: found.append(Slow(waits=True).answer))
    quick = threading.Thread(target=lambda: found.append(Slow(waits=False).answer))
    slow.start()
    assert begun.wait(10)
    quick.start()
    quick.join(5)
    assert found == ["computed"]
    go_on.set()
    slow.join(10)
    assert found == ["computed", "computed"]
