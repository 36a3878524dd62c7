"""The store's side of sessions: async, one transaction a call."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from typing import TypeVar

from sqlalchemy import Connection

from turnwise.descriptors import ToolBinding
from turnwise.errors import Unavailable
from turnwise.runs import RunSettings
from turnwise.sessions import (
    Cleared,
    Entry,
    ForkableMessage,
    IndexedEntry,
    ItemEnd,
    Origin,
    PendingItem,
    PromptResult,
    SessionPage,
    SessionStats,
    SessionView,
    StoredItem,
    TranscriptEvent,
)
from turnwise.store import endings, session_items, session_queries, session_tools, sessions
from turnwise.store.changes import Changes
from turnwise.store.database import Database
from turnwise.store.looks import Looks
from turnwise.store.registration import Registration, register
from turnwise.store.session_items import NewItem
from turnwise.store.sessions import SessionRegistration
from turnwise.store.topics import session_topic
from turnwise.store.transactions import Transactions
from turnwise.store.watching import Frame, watch, watched_session

T = TypeVar("T")


class SessionStore:
    def __init__(self, transactions: Transactions, database: Database, changes: Changes) -> None:
        self._transactions = transactions
        self._database = database
        self._changes = changes
        self._looks = Looks(database)

    # Writing

    async def create(self, new: SessionRegistration) -> None:
        await self._change(new.session_id, lambda c: sessions.create(c, new))

    async def add_item(self, item: NewItem) -> StoredItem:
        """What is stored under the prompt's id: this item, unless the id was used before."""

        def add(connection: Connection) -> StoredItem:
            sessions.lock_open(connection, item.session_id)
            sessions.change(connection, item.session_id)
            stored = session_items.add(connection, item)
            if item.starts is not None and stored.state is None:
                register(
                    connection,
                    Registration(
                        run_id=stored.run_id, execution_id=None, input=item.starts, task_queue=item.task_queue
                    ),
                )
            return stored

        return await self._change(item.session_id, add)

    async def end_items(self, session_id: str, ends: list[ItemEnd]) -> None:
        """The active prompt has ended, and with it perhaps the whole queue."""

        await self._change(session_id, lambda c: endings.end_prompts(c, session_id, ends))

    async def end_lost_items(self, session_id: str, known: Collection[str]) -> None:
        """Of what is stored, only what the session's workflow knows will ever be executed."""
        await self._change(session_id, lambda c: endings.end_lost_prompts(c, session_id, known))

    async def clear_pending(self, session_id: str, prompt_ids: list[str]) -> Cleared:
        def clear(connection: Connection) -> Cleared:
            sessions.lock(connection, session_id)
            cleared = Cleared(
                queued_removed=session_items.remove(connection, session_id, prompt_ids),
                resolved_removed=session_items.forget_history(connection, session_id),
            )
            sessions.change(connection, session_id)
            return cleared

        return await self._change(session_id, clear)

    async def forget_history(self, session_id: str) -> int:
        def forget(connection: Connection) -> int:
            sessions.load_row(connection, session_id)
            return session_items.forget_history(connection, session_id)

        return await self._change(session_id, forget)

    async def replace_transcript(self, session_id: str, entries: list[Entry]) -> None:
        await self._change(session_id, lambda c: sessions.replace_transcript(c, session_id, entries))

    async def close(self, session_id: str) -> None:
        await self._change(session_id, lambda c: endings.close_session(c, session_id))

    async def register_tools(
        self, session_id: str, bindings: Sequence[ToolBinding], whole_server: str | None
    ) -> list[ToolBinding]:
        """Them as they are registered, with the names that the session has for them."""

        def register(connection: Connection) -> list[ToolBinding]:
            sessions.lock_open(connection, session_id)
            return session_tools.register_tools(connection, session_id, bindings, whole_server)

        return await self._change(session_id, register)

    async def remove_tool(self, session_id: str, name: str) -> None:
        def remove(connection: Connection) -> None:
            sessions.lock_open(connection, session_id)
            session_tools.remove_tool(connection, session_id, name)

        await self._change(session_id, remove)

    async def enable_tool(self, session_id: str, name: str, *, enabled: bool) -> None:
        def enable(connection: Connection) -> None:
            sessions.lock_open(connection, session_id)
            session_tools.enable_tool(connection, session_id, name, enabled)

        await self._change(session_id, enable)

    # Reading

    async def get(self, session_id: str) -> SessionView:
        return await self._transactions.read(lambda c: sessions.get_session(c, session_id))

    async def settings(self, session_id: str) -> RunSettings:
        return await self._transactions.read(lambda c: sessions.session_settings(c, session_id))

    async def page(self, limit: int = 50, cursor: str | None = None) -> SessionPage:
        return await self._transactions.read(lambda c: sessions.list_sessions(c, limit, cursor))

    async def known_request(self, session_id: str, digest: str) -> bool:
        return await self._transactions.read(lambda c: sessions.known_request(c, session_id, digest))

    async def item(self, session_id: str, prompt_id: str) -> StoredItem | None:
        return await self._transactions.read(lambda c: session_items.load(c, session_id, prompt_id))

    async def prompt_result(self, session_id: str, prompt_id: str) -> PromptResult | None:
        return await self._transactions.read(lambda c: session_queries.prompt_result(c, session_id, prompt_id))

    async def ended(self, session_id: str, prompt_id: str) -> PromptResult:
        """Waits for a prompt's end. Raises PromptCanceled when the prompt was removed from the queue."""

        async def look() -> PromptResult | None:
            return await self.prompt_result(session_id, prompt_id)

        found = await self._watched(session_id, look, None)
        assert found is not None
        return found

    async def settled(self, session_id: str, good: Callable[[SessionView], bool], patience_sec: float) -> SessionView:
        """The session as soon as it is `good`, or as it is when patience runs out."""

        async def look() -> SessionView | None:
            view = await self.get(session_id)
            return view if good(view) else None

        return await self._watched(session_id, look, patience_sec) or await self.get(session_id)

    async def _watched(
        self, session_id: str, look: Callable[[], Awaitable[T | None]], patience_sec: float | None
    ) -> T | None:
        """Looks each time that something may have changed, until there is something to see."""
        with self._changes.subscribe(session_topic(session_id)) as subscription, contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_sec):
                while True:
                    with contextlib.suppress(Unavailable):
                        found = await look()
                        if found is not None:
                            return found
                    # News of this process say what they bring: only without them is it worth a look.
                    while await subscription.wait() and not subscription.ended:
                        pass
                    if subscription.ended:
                        raise Unavailable("This process is stopping; ask again.")
        return None

    async def origin_of_fork(self, session_id: str, at: int | None) -> Origin:
        return await self._transactions.read(lambda c: sessions.origin_of_fork(c, session_id, at))

    async def transcript(self, session_id: str, first: int, limit: int) -> list[IndexedEntry]:
        return await self._transactions.read(lambda c: session_queries.transcript(c, session_id, first, limit))

    async def transcript_events(self, session_id: str, first: int, limit: int) -> list[TranscriptEvent]:
        return await self._transactions.read(lambda c: session_queries.transcript_events(c, session_id, first, limit))

    async def forkable(self, session_id: str) -> list[ForkableMessage]:
        return await self._transactions.read(lambda c: session_queries.forkable(c, session_id))

    async def pending(self, session_id: str, length: int, *, include_resolved: bool) -> list[PendingItem]:
        return await self._transactions.read(
            lambda c: session_queries.pending(c, session_id, length, include_resolved=include_resolved)
        )

    async def stats(self, session_id: str) -> SessionStats:
        return await self._transactions.read(lambda c: session_queries.stats(c, session_id))

    async def tools(self, session_id: str) -> list[ToolBinding]:
        def load(connection: Connection) -> list[ToolBinding]:
            sessions.load_row(connection, session_id)
            return session_tools.load_tools(connection, session_id)

        return await self._transactions.read(load)

    def watch(self, session_id: str, cursor: int = 0) -> AsyncIterator[Frame]:
        return watch(self._looks, self._changes, watched_session(session_id), cursor)

    async def _change(self, session_id: str, work: Callable[[Connection], T]) -> T:
        return await self._transactions.change(session_topic(session_id), work)
