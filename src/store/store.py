"""The store as the rest of Turnwise uses it: async, one transaction a call, watchers told after each commit."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import TypeVar

from sqlalchemy import Connection, func, select, text

from turnwise.fcmp.events import DiagnosticWarning, ErrorInfo
from turnwise.statechart import State
from turnwise.store import blobs, interactions, migrations, queries, registration, restarts, turns
from turnwise.store.changes import CHANNEL, Changes
from turnwise.store.database import Database
from turnwise.store.locked_run import NEWS
from turnwise.store.records import (
    AuditEntry,
    AuditRecord,
    Glance,
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
from turnwise.store.watching import Frame, watch

T = TypeVar("T")


class Store:
    def __init__(self, url: str) -> None:
        self._database = Database(url)
        self._changes = Changes(self._database, self._versions)

    async def open(self) -> None:
        await self._database.write(migrations.upgrade)
        self._changes.start()

    def end_watches(self) -> None:
        self._changes.end_watches()

    async def close(self) -> None:
        await self._changes.close()
        await self._database.close()

    async def ping(self) -> None:
        """Raises Unavailable when the database does not answer."""
        await self._database.read(lambda connection: connection.execute(text("SELECT 1")).scalar())

    # Writing

    async def put_blob(self, body: str) -> str:
        return await self._database.write(lambda connection: blobs.put_blob(connection, body))

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

    async def beat(self, worker_id: str) -> Mapping[str, int]:
        return await self._database.write(lambda c: restarts.beat(c, worker_id))

    async def leave(self, worker_id: str) -> None:
        await self._database.write(lambda c: restarts.leave(c, worker_id))

    async def serving_workers(self, task_queue: str) -> set[str]:
        return await self._database.read(lambda c: set(restarts.serving(c, task_queue)))

    async def unsettled(self, before: str, after_run: str, limit: int) -> list[restarts.Unsettled]:
        return await self._database.read(lambda c: restarts.unsettled(c, before, after_run, limit))

    # Reading

    async def known_request(self, run_id: str, digest: str) -> bool:
        return await self._database.read(lambda c: registration.check_digest(c, run_id, digest))

    async def run(self, run_id: str) -> RunView:
        return await self._database.read(lambda c: queries.get_run(c, run_id))

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
        return watch(self._database, self._changes, run_id, cursor)

    async def _versions(self, run_ids: list[str]) -> Mapping[str, int]:
        return await self._database.read(lambda c: queries.read_versions(c, run_ids))

    async def _change(self, run_id: str, work: Callable[[Connection], T]) -> T:
        def transaction(connection: Connection) -> tuple[T, Glance | None]:
            connection.info.pop(NEWS, None)
            result = work(connection)
            if not self._database.is_sqlite:
                # Delivered by PostgreSQL when, and only if, this transaction commits.
                connection.execute(select(func.pg_notify(CHANNEL, self._changes.notice(run_id))))
            return result, connection.info.pop(NEWS, None)

        result, news = await self._database.write(transaction)
        self._changes.notify(run_id, news)
        return result
