"""What a session writes to the store, as local activities: no workflow task of their own, each safe to repeat."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError

from turnwise.activities.sessions import ClearRequest, EndRequest, LostRequest, ResumeRequest, Sessions
from turnwise.cancellation import uninterrupted
from turnwise.sessions import Cleared, ItemEnd, SessionInput, StoredItem
from turnwise.store.session_items import NewItem
from turnwise.store.sessions import SessionRegistration
from turnwise.workflows.outbox import RETRY, TIMEOUT

T = TypeVar("T")
P = TypeVar("P")


class SessionOutbox:
    def __init__(self, session_id: str, on_cancel: Callable[[], None]) -> None:
        self._session_id = session_id
        self._on_cancel = on_cancel

    async def register(self, settings: SessionInput) -> None:
        info = workflow.info()
        registration = SessionRegistration(
            session_id=self._session_id,
            execution_id=info.first_execution_run_id,
            input=settings,
            task_queue=info.task_queue,
        )
        await self._done(Sessions.register_session, registration)

    async def add(self, item: NewItem) -> StoredItem:
        return await self._done(Sessions.add_item, item)

    async def end(self, ends: list[ItemEnd]) -> None:
        await self._done(Sessions.end_items, EndRequest(session_id=self._session_id, ends=ends))

    async def end_lost(self, known: list[str]) -> None:
        await self._done(Sessions.end_lost_items, LostRequest(session_id=self._session_id, known=known))

    async def clear_pending(self, prompt_ids: list[str]) -> Cleared:
        request = ClearRequest(session_id=self._session_id, prompt_ids=prompt_ids)
        return await self._done(Sessions.clear_pending, request)

    async def replace_transcript(self, entries_ref: str) -> None:
        request = ResumeRequest(session_id=self._session_id, entries_ref=entries_ref)
        await self._done(Sessions.replace_transcript, request)

    async def close(self) -> None:
        await self._done(Sessions.close_session, self._session_id)

    async def _done(self, method: Callable[[Sessions, P], Awaitable[T]], request: P) -> T:
        work = workflow.execute_local_activity_method(
            method, request, start_to_close_timeout=TIMEOUT, retry_policy=RETRY
        )
        try:
            return await uninterrupted(work, self._on_cancel)
        except ActivityError as error:
            raise error.cause or error from error
