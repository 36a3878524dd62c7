"""What both sides can do: run the two-turn run, and tell when its question and its end are seen."""

from typing import Protocol

from temporalio.client import Client

ANSWER = "blue"


class RunBroken(Exception):
    """A run ended otherwise than it should."""


class TwoTurnRun(Protocol):
    @property
    def id(self) -> str: ...

    async def until_asked(self) -> None: ...

    async def reply_until_completed(self) -> None:
        """Sends the reply; returns when its sender sees the run completed."""


class Side(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def temporal(self) -> Client: ...

    async def start(self) -> TwoTurnRun: ...


async def whole_run(side: Side) -> str:
    run = await side.start()
    await run.until_asked()
    await run.reply_until_completed()
    return run.id
