"""A session: a conversation of many prompts, which it executes one at a time."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

from pydantic import ValidationError
from temporalio.client import Client

from turnwise.activities.sessions import RegisteredTools
from turnwise.client.run import Run
from turnwise.client.starting import Starter
from turnwise.client.updates import SessionUpdates
from turnwise.descriptors import ToolDescriptor, ToolRequest, ToolSource
from turnwise.engines import Engines
from turnwise.errors import (
    PromptAlreadyRunning,
    PromptCanceled,
    PromptFailed,
    PromptMalformed,
    ToolUnknown,
    Unavailable,
    first_fault,
)
from turnwise.fcmp.jsonvalue import JsonObject, json_text
from turnwise.runs import RunContent
from turnwise.sessions import (
    INLINE_PROMPT_MAX_BYTES,
    PREVIEW_LENGTH,
    Cleared,
    ForkableMessage,
    IndexedEntry,
    ItemSource,
    PendingItem,
    PromptReceipt,
    PromptRequest,
    PromptResult,
    SessionInput,
    SessionStats,
    SessionView,
    StreamingBehavior,
    TranscriptEvent,
    parse_entries,
)
from turnwise.statechart import State
from turnwise.status import StatusView
from turnwise.store import Store
from turnwise.store.watching import Frame

TOOLS_TIMEOUT = timedelta(seconds=70)
SETTLING_SEC = 5.0
"""How long a session that is just about to be free, or closed, is waited for."""
ASK_AGAIN_SEC = 0.05
PAGE = 1000


class AgentSession:
    def __init__(self, session_id: str, temporal: Client, store: Store, engines: Engines, starter: Starter) -> None:
        self.id = session_id
        self._temporal = temporal
        self._store = store
        self._engines = engines
        self._starter = starter
        self._updates = SessionUpdates(session_id, temporal, store)

    # Prompts

    async def prompt(
        self,
        text: str,
        *,
        streaming_behavior: StreamingBehavior = StreamingBehavior.REJECT,
        engine_options: JsonObject | None = None,
        prompt_id: str | None = None,
    ) -> PromptResult:
        """Returns when the prompt's own run has succeeded; raises PromptCanceled or PromptFailed when it has not."""
        receipt = await self.submit(
            text, streaming_behavior=streaming_behavior, engine_options=engine_options, prompt_id=prompt_id
        )
        result = await self.result(receipt.prompt_id)
        if result.state is State.CANCELED:
            raise PromptCanceled(result.error.message if result.error else "The prompt was canceled.")
        if result.state is State.FAILED:
            error = result.error.model_dump() if result.error else None
            raise PromptFailed(result.error.message if result.error else "The prompt failed.", error=error)
        return result

    async def steer(self, text: str, *, prompt_id: str | None = None) -> PromptReceipt:
        """Executes it, or queues it if the session is at work; does not wait for its end."""
        return await self.submit(text, source=ItemSource.STEER, prompt_id=prompt_id)

    async def follow_up(self, text: str, *, prompt_id: str | None = None) -> PromptReceipt:
        """Like `steer`, under another name in the queue."""
        return await self.submit(text, source=ItemSource.FOLLOW_UP, prompt_id=prompt_id)

    async def submit(
        self,
        text: str,
        *,
        streaming_behavior: StreamingBehavior = StreamingBehavior.REJECT,
        source: ItemSource | None = None,
        engine_options: JsonObject | None = None,
        prompt_id: str | None = None,
    ) -> PromptReceipt:
        """Returns when the prompt is durably accepted. The same `prompt_id` sent again is the same prompt."""
        if engine_options is not None:
            settings = await self._store.sessions.settings(self.id)
            self._engines[settings.engine].check_options(engine_options)
        try:
            request = PromptRequest(
                text=text,
                streaming_behavior=streaming_behavior,
                source=source,
                engine_options=engine_options,
                prompt_id=prompt_id or str(uuid.uuid4()),
            )
        except ValidationError as error:
            raise PromptMalformed(first_fault(error)) from error
        known = await self._store.sessions.item(self.id, request.prompt_id) if prompt_id else None
        if known is not None and known.state is not None:
            return PromptReceipt.of(self.id, known)
        return await self._accepted(await self._by_reference(request))

    async def result(self, prompt_id: str) -> PromptResult:
        """What became of a prompt, once it has ended; raises PromptCanceled when it was removed from the queue."""
        return await self._store.sessions.ended(self.id, prompt_id)

    async def cancel_active_prompt(self) -> bool:
        """Asks the active prompt to stop; false when there is none. What is queued behind it fails."""
        return await self._updates.send("cancel_prompt", gives=bool)

    async def active_run(self) -> Run | None:
        """The run of the prompt being executed: to answer its questions."""
        run_id = (await self.view()).active_run_id
        return Run(run_id, self._temporal.get_workflow_handle(run_id), self._store) if run_id else None

    # The queue

    async def pending_messages(
        self, max_length: int = PREVIEW_LENGTH, *, include_resolved: bool = False
    ) -> list[PendingItem]:
        return await self._store.sessions.pending(self.id, max_length, include_resolved=include_resolved)

    async def pending_message_count(self) -> int:
        return (await self.view()).pending_messages

    async def clear_pending_history(self) -> Cleared:
        """Forgets what has left the queue; the queue itself stays."""
        return Cleared(resolved_removed=await self._store.sessions.forget_history(self.id))

    async def clear_pending_state(self, *, cancel_active_prompt: bool = False) -> Cleared:
        """Empties the queue too; whoever awaits a prompt in it gets PromptCanceled."""
        return await self._updates.send("clear_pending", cancel_active_prompt, gives=Cleared)

    # The transcript

    async def transcript(self, first: int = 0, limit: int = PAGE) -> list[IndexedEntry]:
        return await self._store.sessions.transcript(self.id, first, limit)

    async def forkable_user_messages(self) -> list[ForkableMessage]:
        return await self._store.sessions.forkable(self.id)

    async def fork(self, from_user_entry_index: int | None = None) -> "AgentSession":
        """A session of its own that begins with what was said here, all of it or what came before a user's prompt."""
        origin = await self._store.sessions.origin_of_fork(self.id, from_user_entry_index)
        settings = await self._store.sessions.settings(self.id)
        forked = f"session-{uuid.uuid4()}"
        await self._starter.start_session(forked, SessionInput(**settings.model_dump(), origin=origin), None)
        return AgentSession(forked, self._temporal, self._store, self._engines, self._starter)

    async def resume(self, entries: Sequence[IndexedEntry | JsonObject]) -> None:
        """Takes this transcript instead of its own; raises SessionBusy while a prompt is being executed."""
        plain = [each.wire() if isinstance(each, IndexedEntry) else each for each in entries]
        parse_entries(plain)
        await self.view()
        ref = await self._store.put_blob(json_text(plain))
        await self._updates.send("resume", ref, gives=type(None))

    async def events(self, first: int = 0, limit: int = PAGE) -> list[TranscriptEvent]:
        """The transcript as structured events, from entry `first` on, and the message being written."""
        return await self._store.sessions.transcript_events(self.id, first, limit)

    async def stats(self) -> SessionStats:
        return await self._store.sessions.stats(self.id)

    # Tools

    async def register(self, name: str | None = None, *, server: str | None = None) -> list[ToolDescriptor]:
        """A native tool by its name, a tool of an MCP server, or without a name all of that server's."""
        source = ToolSource.NATIVE if server is None else ToolSource.MCP
        try:
            request = ToolRequest(source=source, name=name, server=server)
        except ValidationError as error:
            raise ToolUnknown(first_fault(error)) from error
        return await self.register_tools(request)

    async def register_tools(self, request: ToolRequest) -> list[ToolDescriptor]:
        """They are returned under the names that the session has for them."""
        registered = await self._updates.send(
            "register_tools", request.model_dump(mode="json"), gives=RegisteredTools, patience=TOOLS_TIMEOUT
        )
        return [tool for tool in await self.tool_descriptors() if tool.name in registered.names]

    async def unregister(self, name: str) -> None:
        await self._store.sessions.remove_tool(self.id, name)

    async def enable(self, name: str) -> None:
        await self._store.sessions.enable_tool(self.id, name, enabled=True)

    async def disable(self, name: str) -> None:
        """It stays in the list, and may not be called."""
        await self._store.sessions.enable_tool(self.id, name, enabled=False)

    async def tool_descriptors(self) -> list[ToolDescriptor]:
        return [binding.descriptor for binding in await self._store.sessions.tools(self.id)]

    async def active_tool_names(self) -> list[str]:
        return [tool.name for tool in await self.tool_descriptors() if tool.enabled]

    # The session itself

    async def view(self) -> SessionView:
        return await self._store.sessions.get(self.id)

    async def status(self) -> StatusView:
        """What people are to be shown: the status of the newest prompt that was started."""
        return (await self.view()).status

    def frames(self, cursor: int = 0) -> AsyncIterator[Frame]:
        """The whole conversation after `cursor` and as it goes on: events of all runs in one order, until it closes."""
        return self._store.sessions.watch(self.id, cursor)

    async def close(self) -> SessionView:
        """Cancels what is under way and ends the session, which takes as long as its turn takes to stop."""
        await self._updates.send("close", gives=type(None))
        return await self._store.sessions.settled(self.id, lambda view: view.closed_at is not None, SETTLING_SEC)

    async def _accepted(self, request: PromptRequest) -> PromptReceipt:
        if request.source is not None or request.streaming_behavior is not StreamingBehavior.REJECT:
            # Who has seen a prompt fail or be canceled is not queued behind it, to fail with it.
            await self._settled()
        give_up_at = time.monotonic() + SETTLING_SEC
        while True:
            try:
                return await self._updates.send(
                    "prompt", request.model_dump(mode="json"), gives=PromptReceipt, update_id=request.prompt_id
                )
            except PromptAlreadyRunning:
                # Who has just seen the run's end must not be refused because the session has not.
                if time.monotonic() > give_up_at or not await self._is_about_to_be_free():
                    raise
                await asyncio.sleep(ASK_AGAIN_SEC)
            except Unavailable as error:
                message = f"{error.message} Send the prompt again with the same prompt_id."
                raise Unavailable(message, prompt_id=request.prompt_id) from error

    async def _is_about_to_be_free(self) -> bool:
        view = await self._settled()
        return view.active_run_id is None and view.pending_messages == 0

    async def _settled(self) -> SessionView:
        """The session, once it has seen the end of a run that others can see has ended."""
        view = await self.view()
        busy_with = view.active_run_id
        if busy_with is None or (await self._store.run(busy_with)).ended_at is None:
            return view
        return await self._store.sessions.settled(self.id, lambda now: now.active_run_id != busy_with, SETTLING_SEC)

    async def _by_reference(self, request: PromptRequest) -> PromptRequest:
        content = RunContent(prompt=request.text, engine_options=request.engine_options).model_dump_json()
        if len(content.encode()) <= INLINE_PROMPT_MAX_BYTES:
            return request
        ref = await self._store.put_blob(content)
        return request.model_copy(
            update={"text": request.text[:PREVIEW_LENGTH], "engine_options": None, "content_ref": ref}
        )
