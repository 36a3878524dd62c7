"""What a process that serves is told of its work, for its log and its measurements."""

from dataclasses import dataclass, field
from typing import Protocol

from sqlalchemy import Connection

from turnwise.status import Reason, Status

_DEEDS = "turnwise.deeds"


@dataclass(frozen=True, slots=True)
class StatusChange:
    session_id: str | None
    run_id: str
    source: Status | None
    """None of a new run."""
    target: Status
    reason: Reason


@dataclass(slots=True)
class Deeds:
    """What one transaction has done."""

    events: int = 0
    changes: list[StatusChange] = field(default_factory=list)
    resumed_after: float | None = None
    """Of a turn that a reply has resumed: how many seconds after it."""


class Observer(Protocol):
    def committed(self, deeds: Deeds) -> None: ...

    def turn_ended(self, seconds: float) -> None: ...


class Unobserved:
    """In a process of somebody else's, which has a log and measurements of its own."""

    def committed(self, deeds: Deeds) -> None:
        pass

    def turn_ended(self, seconds: float) -> None:
        pass


def deeds_of(connection: Connection) -> Deeds:
    """Where a transaction notes them until it is committed."""
    deeds: Deeds = connection.info.setdefault(_DEEDS, Deeds())
    return deeds


def take_deeds(connection: Connection) -> Deeds:
    deeds: Deeds = connection.info.pop(_DEEDS, None) or Deeds()
    return deeds
