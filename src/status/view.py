"""The status as it goes over the wire: the same for everyone, everywhere."""

from typing import Self

from pydantic import BaseModel

from turnwise.status.standing import Standing
from turnwise.status.table import Reason, Status


class StatusView(BaseModel):
    session_id: str | None
    run_id: str | None
    """Null when it is not a run's: of a session that never had a prompt, or is closed."""
    status: Status
    reason: Reason
    timestamp: str
    """Since when."""
    last_activity_at: str | None
    """When the run last put something out: text, a call of a tool, its result."""

    @classmethod
    def of(cls, standing: Standing, *, session_id: str | None, run_id: str | None) -> Self:
        return cls(
            session_id=session_id,
            run_id=run_id,
            status=standing.status,
            reason=standing.reason,
            timestamp=standing.since,
            last_activity_at=standing.last_activity_at,
        )

    def differs(self, other: "StatusView") -> bool:
        """Whether a watcher is to be told: later output alone is no news."""
        return self._shown != other._shown

    @property
    def _shown(self) -> tuple[str | None, ...]:
        return self.session_id, self.run_id, self.status, self.reason, self.timestamp
