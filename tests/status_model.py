"""The status as its contract says it: an interpreter that knows nothing but `contracts/status.yaml`."""

from dataclasses import dataclass
from typing import Self

import yaml
from pydantic import BaseModel, ConfigDict

from turnwise import contracts


class Shown(BaseModel):
    model_config = ConfigDict(extra="forbid")

    status: str
    reason: str
    run_id: None = None


class ContractClock(BaseModel):
    model_config = ConfigDict(extra="forbid")

    fact: str
    after: str
    counted_from: str


class ContractSession(BaseModel):
    model_config = ConfigDict(extra="forbid")

    without_prompt: Shown
    closed: Shown


class Contract(BaseModel):
    model_config = ConfigDict(extra="forbid")

    version: int
    statuses: list[str]
    initial: Shown
    facts: dict[str, str]
    reasons: dict[str, str]
    transitions: dict[str, dict[str, str]]
    clocks: dict[str, ContractClock]
    defaults: dict[str, float]
    session: ContractSession


CONTRACT = Contract.model_validate(yaml.safe_load(contracts.read("status.yaml")))


@dataclass
class Model:
    """Seconds since the prompt was accepted serve as time."""

    settings: dict[str, float]
    status: str
    reason: str
    timestamp: float
    last_activity_at: float | None = None

    @classmethod
    def begun(cls, **settings: float) -> Self:
        return cls(CONTRACT.defaults | settings, CONTRACT.initial.status, CONTRACT.initial.reason, 0.0)

    def hear(self, fact: str, at: float) -> bool:
        """Whether people are told."""
        target = CONTRACT.transitions[self.status].get(fact)
        if target is None:
            return False
        if fact == "output_written":
            self.last_activity_at = at
        if (target, fact) == (self.status, self.reason):
            return False
        self.status, self.reason, self.timestamp = target, fact, at
        return True

    def due(self) -> tuple[float, str] | None:
        clock = CONTRACT.clocks.get(self.status)
        if clock is None:
            return None
        start = self.timestamp if clock.counted_from == "timestamp" else self.last_activity_at
        assert start is not None
        return start + self.settings[clock.after], clock.fact
