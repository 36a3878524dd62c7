"""How a run stands, moved by facts and by the clock. Whoever tells of a fact brings the time along, as text."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple, Self

from turnwise.status.table import Fact, Reason, Status, step


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a status is believed while nothing happens."""

    accepted_ttl_sec: float
    stall_after_sec: float


class Due(NamedTuple):
    """What becomes a fact, and when, if nothing else happens before."""

    at: datetime
    fact: Fact


@dataclass(frozen=True, slots=True)
class Standing:
    status: Status
    reason: Reason
    since: str
    last_activity_at: str | None = None
    """When the run last put something out; None when it has not."""

    @classmethod
    def begun(cls, at: str) -> Self:
        """Of a prompt that was just accepted."""
        return cls(Status.ACCEPTED, Reason.INPUT_ACCEPTED, at)

    @classmethod
    def idle(cls, since: str) -> Self:
        """Of a session that never had a prompt."""
        return cls(Status.COMPLETED, Reason.IDLE, since)

    def after(self, fact: Fact, at: str) -> "Standing":
        transition = step(self.status, fact)
        if transition is None:
            return self
        active = at if fact is Fact.OUTPUT_WRITTEN else self.last_activity_at
        if (transition.target, transition.reason) == (self.status, self.reason):
            return replace(self, last_activity_at=active)
        return Standing(transition.target, transition.reason, at, active)

    def differs(self, other: "Standing") -> bool:
        """Whether people are to be told. That more output came while output comes tells them nothing new."""
        return (self.status, self.reason) != (other.status, other.reason)

    def due(self, patience: Patience) -> Due | None:
        match self.status:
            case Status.ACCEPTED:
                return Due(_later(self.since, patience.accepted_ttl_sec), Fact.ACCEPTANCE_EXPIRED)
            case Status.AWAITING_OUTPUT:
                return Due(_later(self.since, patience.stall_after_sec), Fact.SILENCE_ELAPSED)
            case Status.ACTIVE_OUTPUT:
                return Due(_later(self.last_activity_at or self.since, patience.stall_after_sec), Fact.SILENCE_ELAPSED)
        return None


def _later(instant: str, seconds: float) -> datetime:
    return datetime.fromisoformat(instant) + timedelta(seconds=seconds)
