"""What a round of the suite did, and what was lost: nothing."""

from collections import Counter
from dataclasses import dataclass
from typing import Self

from tests.faults.talks import Talk
from tests.faults.users import User
from tests.faults.watchers import ENDS
from turnwise.fcmp.events import EventType, FcmpEvent


@dataclass(frozen=True, slots=True)
class Report:
    seed: int
    faults: Counter[str]
    runs: Counter[str]
    """By how they ended, those of sessions included."""
    sessions: int
    prompts: int
    events: Counter[str]
    """Those that tell of a fault, by name."""
    all_events: int
    connections: int
    sent: int
    receipts: int
    losers: int
    lost: list[str]

    @classmethod
    def of(cls, seed: int, faults: Counter[str], users: list[User], talks: list[Talk], lost: list[str]) -> Self:
        watchers = [watcher for watcher in [*(u.watcher for u in users), *(t.watcher for t in talks)] if watcher]
        return cls(
            seed=seed,
            faults=faults,
            runs=Counter(_end(event) for watcher in watchers for event in watcher.seen if event.type in ENDS),
            sessions=len(talks),
            prompts=sum(len(talk.accepted) for talk in talks),
            events=Counter(name for watcher in watchers for name in map(_recovery, watcher.seen) if name),
            all_events=sum(len(watcher.seen) for watcher in watchers),
            connections=sum(watcher.connections for watcher in watchers),
            sent=sum(user.spoken.sent for user in users),
            receipts=sum(len(user.spoken.receipts) for user in users),
            losers=sum(len(user.spoken.losers) for user in users),
            lost=lost,
        )

    def __str__(self) -> str:
        return "\n".join(
            [
                f"seed     {self.seed}",
                f"faults   {_sum(self.faults)}",
                f"runs     {_sum(self.runs)}",
                f"sessions {self.sessions}, with {self.prompts} prompts",
                f"events   {self.all_events}, each seen once by its watcher in {self.connections} connections"
                f" ({_sum(self.events)} of recovery)",
                f"replies  {self.sent}: {self.receipts} receipts, {self.losers} were told who had won before them",
                "lost     " + ("\n         ".join(self.lost) or "nothing"),
            ]
        )


def _sum(counter: Counter[str]) -> str:
    parts = ", ".join(f"{number} {name}" for name, number in sorted(counter.items()))
    return f"{counter.total()}: {parts}" if parts else "0"


def _end(last: FcmpEvent) -> str:
    error = last.data.get("error")
    return str(error["code"]) if isinstance(error, dict) else "succeeded"


def _recovery(event: FcmpEvent) -> str | None:
    trigger = str(event.data.get("trigger"))
    return trigger if event.type is EventType.STATE_CHANGED and trigger.startswith("restart.") else None
