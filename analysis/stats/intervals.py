"""A value with the ends of its interval, as one field of a table's row."""

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints


class Interval(NamedTuple):
    """All three are None if the value is unknown, the ends if a single replicate has it.

    As the field of a row it has three columns: `drift: Annotated[Interval, "drift low high"]`.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None

    def through(self, function: Callable[[float], float]) -> "Interval":
        """A growing function of the value and the ends."""
        return Interval(*(None if one is None else function(one) for one in self))


UNKNOWN = Interval()


def columns(row: Any) -> dict[str, list[str]]:
    """The columns of each field of a row's class."""
    hints = get_type_hints(row, include_extras=True)
    return {own.name: named(hints[own.name]) or [own.name] for own in fields(row)}


@cache
def places(row: Any) -> dict[str, tuple[str, int]]:
    """Where a row's class has the columns of its intervals: the field, and the place in it."""
    return {
        column: (name, place)
        for name, three in columns(row).items()
        if len(three) > 1
        for place, column in enumerate(three)
    }


def named(hint: object) -> list[str]:
    of, *names = get_args(hint) if get_origin(hint) is Annotated else (None,)
    return str(names[0]).split() if of is Interval else []
