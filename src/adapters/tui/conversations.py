"""What can be open on the screen: a session, or a run that belongs to none."""

import itertools
from collections.abc import AsyncIterator
from typing import Protocol

from turnwise.client import AgentSession, Run
from turnwise.sessions import Entry
from turnwise.store.watching import Frame

RECENT_EVENTS = 500
"""How far back a conversation is shown."""
INHERITED_ENTRIES = 200


class Conversation(Protocol):
    @property
    def id(self) -> str: ...

    def frames(self, cursor: int) -> AsyncIterator[Frame]: ...

    async def beginning(self) -> int:
        """The cursor to begin at."""

    async def inherited(self, own_runs: set[str]) -> list[Entry]:
        """What was said before its own runs."""

    async def cancel(self) -> None: ...


class OpenSession:
    def __init__(self, session: AgentSession) -> None:
        self.session = session
        self.id = session.id

    def frames(self, cursor: int) -> AsyncIterator[Frame]:
        return self.session.frames(cursor)

    async def beginning(self) -> int:
        return max((await self.session.view()).last_seq - RECENT_EVENTS, 0)

    async def inherited(self, own_runs: set[str]) -> list[Entry]:
        view = await self.session.view()
        if view.total_entries == 0 or view.last_seq > RECENT_EVENTS:
            return []
        if view.parent_session_id is None and view.last_seq > 0:
            return []
        entries = [each.entry for each in await self.session.transcript()]
        before = list(itertools.takewhile(lambda entry: entry.run_id not in own_runs, entries))
        return before[-INHERITED_ENTRIES:]

    async def cancel(self) -> None:
        await self.session.cancel_active_prompt()


class OpenRun:
    def __init__(self, run: Run) -> None:
        self._run = run
        self.id = run.id

    def frames(self, cursor: int) -> AsyncIterator[Frame]:
        return self._run.frames(cursor)

    async def beginning(self) -> int:
        return 0

    async def inherited(self, own_runs: set[str]) -> list[Entry]:
        return []

    async def cancel(self) -> None:
        await self._run.cancel()
