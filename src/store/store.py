"""The store as the rest of Turnwise uses it: async, one transaction a call, watchers told after each commit."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from sqlalchemy import Connection, text

from turnwise.fcmp.events import DiagnosticWarning, ErrorInfo
from turnwise.statechart import State
from turnwise.store import blobs, clock, interactions, migrations, queries, registration, restarts, turns
from turnwise.store.changes import Changes
from turnwise.store.database import Database
from turnwise.store.looks import Looks
from turnwise.store.observing import Observer, Unobserved
from turnwise.store.records import (
    AuditEntry,
    AuditRecord,
    Interaction,
    LiveMessage,
    Output,
    Resolution,
    RunPage,
    RunView,
    StoredEvent,
    TurnClosing,
    TurnContext,
)
from turnwise.store.registration import Registration
from turnwise.store.session_store import SessionStore
from turnwise.store.topics import Topic, run_topic
from turnwise.store.transactions import Transactions
from turnwise.store.watching import Frame, watch, watched_run

T = TypeVar("T")


class Store:
    def __init__(self, url: str, observer: Observer | None = None) -> None:
        self.observer = observer or Unobserved()
        self._database = Database(url)
        self._changes = Changes(self._database, self._versions)
        self._looks = Looks(self._database)
        self._transactions = Transactions(self._database, self._changes, self.observer)
        self.sessions = SessionStore(self._transactions, self._database, self._changes)
        self.is_closed = False

    async def open(self) -> None:
        await self._database.check()
        await self._database.write(migrations.upgrade)
        self._changes.start()

    def watchers(self) -> int:
        return self._changes.watchers()

    def end_watches(self) -> None:
        self._changes.end_watches()

    async def close(self) -> None:
        self.is_closed = True
        await self._changes.close()
        await self._database.close()

    async def ping(self) -> None:
        """Raises Unavailable when the database does not answer."""
        await self._database.read(lambda connection: connection.execute(text("SELECT 1")).scalar())

    def ticking(self) -> AbstractAsyncContextManager[None]:
        """Keeps the clock of the statuses until the block ends."""
        return clock.ticking(self._transactions)

    # Writing

    async def put_blob(self, body: str) -> str:
        return await self._database.write(lambda connection: blobs.put_blob(connection, body))

    async def blob(self, ref: str) -> str:
        return await self._database.read(lambda connection: blobs.load_blob(connection, ref))

    async def register(self, new: Registration) -> bool:
        return await self._change(new.run_id, lambda connection: registration.register(connection, new))

    async def open_turn(
        self,
        run_id: str,
        attempt: int,
        owner: str = "",
        new: Registration | None = None,
        restarted_at: str | None = None,
    ) -> TurnContext:
        return await self._change(run_id, lambda c: turns.open_turn(c, run_id, attempt, owner, new, restarted_at))

    async def abandon_turn(self, run_id: str, attempt: int, warning: DiagnosticWarning) -> None:
        await self._change(run_id, lambda c: turns.abandon_turn(c, run_id, attempt, warning))

    async def write_output(self, run_id: str, attempt: int, outputs: list[Output], entries: list[AuditEntry]) -> None:
        await self._change(run_id, lambda c: turns.write_output(c, run_id, attempt, outputs, entries))

    async def write_live_text(self, run_id: str, attempt: int, message: LiveMessage) -> None:
        await self._change(run_id, lambda c: turns.write_live_text(c, run_id, attempt, message))

    async def close_turn(self, closing: TurnClosing) -> None:
        await self._change(closing.run_id, lambda connection: turns.close_turn(connection, closing))

    async def resolve(self, run_id: str, resolution: Resolution) -> Resolution | None:
        return await self._change(run_id, lambda c: interactions.resolve(c, run_id, resolution))

    async def cancel_wait(self, run_id: str, message: str) -> None:
        await self._change(run_id, lambda c: interactions.cancel_wait(c, run_id, message))

    async def warn(self, run_id: str, key: str, warning: DiagnosticWarning) -> None:
        await self._change(run_id, lambda c: interactions.warn(c, run_id, key, warning))

    async def preserve_wait(self, run_id: str, restart_id: str, interaction_id: int) -> None:
        await self._change(run_id, lambda c: restarts.preserve_wait(c, run_id, restart_id, interaction_id))

    async def reconcile(self, run_id: str, error: ErrorInfo) -> None:
        await self._change(run_id, lambda c: restarts.reconcile(c, run_id, error))

    # Workers

    async def join(self, worker_id: str, task_queue: str) -> Mapping[str, int]:
        return await self._database.write(lambda c: restarts.join(c, worker_id, task_queue))

    async def serve(self, worker_id: str, task_queue: str, silent: Mapping[str, int]) -> bool:
        return await self._database.write(lambda c: restarts.serve(c, worker_id, task_queue, silent))

    async def beat(self, worker_id: str, task_queue: str) -> Mapping[str, int]:
        return await self._database.write(lambda c: restarts.beat(c, worker_id, task_queue))

    async def leave(self, worker_id: str) -> None:
        await self._database.write(lambda c: restarts.leave(c, worker_id))

    async def serving_workers(self, task_queue: str) -> set[str]:
        return await self._database.read(lambda c: set(restarts.serving(c, task_queue)))

    async def closed_turns(self, of: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
        """Those of them that are closed."""
        return await self._database.read(lambda c: turns.closed_turns(c, of))

    async def unsettled(self, task_queue: str, before: str, after_run: str, limit: int) -> list[restarts.Unsettled]:
        return await self._database.read(lambda c: restarts.unsettled(c, task_queue, before, after_run, limit))

    async def unsure_sessions(self, task_queue: str, before: str, after_session: str, limit: int) -> list[str]:
        return await self._database.read(
            lambda c: restarts.unsure_sessions(c, task_queue, before, after_session, limit)
        )

    # Reading

    async def known_request(self, run_id: str, digest: str) -> bool:
        return await self._database.read(lambda c: registration.check_digest(c, run_id, digest))

    async def run(self, run_id: str) -> RunView:
        return await self._database.read(lambda c: queries.get_run(c, run_id))

    async def count_runs(self) -> Mapping[State, int]:
        return await self._database.read(queries.count_runs)

    async def runs(self, state: State | None = None, limit: int = 50, cursor: str | None = None) -> RunPage:
        return await self._database.read(lambda c: queries.list_runs(c, state, limit, cursor))

    async def events(self, run_id: str, after: int = 0, limit: int = 1000, to: int | None = None) -> list[StoredEvent]:
        def read(connection: Connection) -> list[StoredEvent]:
            queries.get_run(connection, run_id)
            return queries.read_events(connection, run_id, after, limit, to)

        return await self._database.read(read)

    async def audit(self, run_id: str, after: int = 0, limit: int = 1000) -> list[AuditRecord]:
        return await self._database.read(lambda c: queries.read_audit(c, run_id, after, limit))

    async def interaction(self, run_id: str, interaction_id: int) -> Interaction | None:
        return await self._database.read(lambda c: interactions.load_interaction(c, run_id, interaction_id))

    def watch(self, run_id: str, cursor: int = 0) -> AsyncIterator[Frame]:
        return watch(self._looks, self._changes, watched_run(run_id), cursor)

    async def _versions(self, topics: list[Topic]) -> Mapping[Topic, int]:
        return await self._database.read(lambda c: queries.read_versions(c, topics))

    async def _change(self, run_id: str, work: Callable[[Connection], T]) -> T:
        return await self._transactions.change(run_topic(run_id), work)
