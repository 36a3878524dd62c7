"""What a session's workflow does in the store and with tools: each activity is safe to repeat."""

import orjson
from pydantic import BaseModel
from temporalio import activity

from turnwise.descriptors import ToolRequest
from turnwise.sessions import Cleared, ItemEnd, StoredItem, parse_entries
from turnwise.store import Store
from turnwise.store.session_items import NewItem
from turnwise.store.sessions import SessionRegistration
from turnwise.tools import Tools


class EndRequest(BaseModel):
    session_id: str
    ends: list[ItemEnd]


class LostRequest(BaseModel):
    session_id: str
    known: list[str]
    """The prompts that the session's workflow knows."""


class ClearRequest(BaseModel):
    session_id: str
    prompt_ids: list[str]


class ResumeRequest(BaseModel):
    session_id: str
    entries_ref: str


class RegisterToolRequest(BaseModel):
    session_id: str
    tool: ToolRequest


class RegisteredTools(BaseModel):
    """By the names that the session has for them; what they are is in the store, and too large for history."""

    names: list[str]


class Sessions:
    def __init__(self, store: Store, tools: Tools) -> None:
        self._store = store
        self._tools = tools

    @activity.defn
    async def register_session(self, registration: SessionRegistration) -> None:
        await self._store.sessions.create(registration)

    @activity.defn
    async def add_item(self, item: NewItem) -> StoredItem:
        return await self._store.sessions.add_item(item)

    @activity.defn
    async def end_items(self, request: EndRequest) -> None:
        await self._store.sessions.end_items(request.session_id, request.ends)

    @activity.defn
    async def end_lost_items(self, request: LostRequest) -> None:
        await self._store.sessions.end_lost_items(request.session_id, request.known)

    @activity.defn
    async def clear_pending(self, request: ClearRequest) -> Cleared:
        return await self._store.sessions.clear_pending(request.session_id, request.prompt_ids)

    @activity.defn
    async def replace_transcript(self, request: ResumeRequest) -> None:
        entries = parse_entries(orjson.loads(await self._store.blob(request.entries_ref)))
        await self._store.sessions.replace_transcript(request.session_id, entries)

    @activity.defn
    async def close_session(self, session_id: str) -> None:
        await self._store.sessions.close(session_id)

    @activity.defn
    async def register_tools(self, request: RegisterToolRequest) -> RegisteredTools:
        """Asks where the tool lives what it is: only a worker knows its functions and its servers."""
        offered = await self._tools.describe(request.tool)
        whole_server = request.tool.server if request.tool.name is None else None
        bindings = await self._store.sessions.register_tools(request.session_id, offered, whole_server)
        return RegisteredTools(names=[binding.descriptor.name for binding in bindings])
