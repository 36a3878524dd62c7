"""Turnwise as a service sees it: runs and sessions, to start and to find again."""

import contextlib
import hashlib
import uuid
from collections.abc import AsyncIterator, Mapping

from pydantic import ValidationError
from temporalio.client import Client
from temporalio.service import RPCError

from turnwise.client.refusals import RPC_TIMEOUT
from turnwise.client.run import Run
from turnwise.client.session import AgentSession
from turnwise.client.starting import Starter
from turnwise.connection import connect_temporal
from turnwise.engines import Engines, default_engines
from turnwise.errors import RunInputInvalid, Unavailable, first_fault
from turnwise.fcmp.events import Mode
from turnwise.fcmp.jsonvalue import JsonObject, json_bytes
from turnwise.runs import (
    DEFAULT_ACCEPTED_TTL_SEC,
    DEFAULT_SESSION_TIMEOUT_SEC,
    DEFAULT_STALL_AFTER_SEC,
    RunInput,
    RunSettings,
)
from turnwise.sessions import SessionInput, SessionPage
from turnwise.settings import Settings
from turnwise.statechart import State
from turnwise.store import Store
from turnwise.store.records import RunPage


@contextlib.asynccontextmanager
async def connect(settings: Settings | None = None) -> AsyncIterator["Turnwise"]:
    """A client on the Temporal server and the database that the environment names."""
    settings = settings or Settings()
    store = Store(settings.store_url)
    try:
        temporal = await connect_temporal(settings)
        await store.open()
        yield Turnwise(temporal, store, default_engines(), task_queue=settings.task_queue)
    finally:
        await store.close()


class Turnwise:
    def __init__(self, temporal: Client, store: Store, engines: Engines, *, task_queue: str) -> None:
        self._temporal = temporal
        self._store = store
        self._engines = engines
        self._starter = Starter(temporal, store, task_queue)

    @property
    def namespace(self) -> str:
        """Of Temporal, where the workflows of runs and sessions are."""
        return self._temporal.namespace

    async def start(
        self,
        prompt: str = "",
        *,
        engine: str = "scripted",
        engine_options: JsonObject | None = None,
        mode: Mode = Mode.INTERACTIVE,
        interactive_require_user_reply: bool = True,
        session_timeout_sec: float = DEFAULT_SESSION_TIMEOUT_SEC,
        max_attempts: int | None = None,
        accepted_ttl_sec: float = DEFAULT_ACCEPTED_TTL_SEC,
        stall_after_sec: float = DEFAULT_STALL_AFTER_SEC,
        session_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Run:
        """Starts a run. With an `idempotency_key`, starting it again gives the same run."""
        try:
            run_input = RunInput(
                prompt=prompt,
                engine=engine,
                engine_options=engine_options or {},
                mode=mode,
                interactive_require_user_reply=interactive_require_user_reply,
                session_timeout_sec=session_timeout_sec,
                max_attempts=max_attempts,
                accepted_ttl_sec=accepted_ttl_sec,
                stall_after_sec=stall_after_sec,
                session_id=session_id,
            )
        except ValidationError as error:
            raise RunInputInvalid(first_fault(error)) from error
        return await self.start_input(run_input, idempotency_key=idempotency_key)

    async def start_input(self, run_input: RunInput, *, idempotency_key: str | None = None) -> Run:
        self._engines[run_input.engine].check_options(run_input.engine_options)
        run_id, digest = _identity("run", run_input, idempotency_key)
        if digest is None or not await self._store.known_request(run_id, digest):
            await self._starter.start_run(run_id, run_input, digest)
        return self.run(run_id)

    def run(self, run_id: str) -> Run:
        """A run that was started before, by anybody."""
        return Run(run_id, self._temporal.get_workflow_handle(run_id), self._store)

    async def runs(self, state: State | None = None, limit: int = 50, cursor: str | None = None) -> RunPage:
        return await self._store.runs(state, limit, cursor)

    async def count_runs(self) -> Mapping[State, int]:
        """How many runs there are in each state; states without any are left out."""
        return await self._store.count_runs()

    async def create_session(
        self,
        *,
        engine: str = "scripted",
        engine_options: JsonObject | None = None,
        mode: Mode = Mode.INTERACTIVE,
        interactive_require_user_reply: bool = True,
        session_timeout_sec: float = DEFAULT_SESSION_TIMEOUT_SEC,
        max_attempts: int | None = None,
        accepted_ttl_sec: float = DEFAULT_ACCEPTED_TTL_SEC,
        stall_after_sec: float = DEFAULT_STALL_AFTER_SEC,
        idempotency_key: str | None = None,
    ) -> AgentSession:
        """Begins a conversation; what is given here holds for each of its prompts."""
        try:
            settings = RunSettings(
                engine=engine,
                engine_options=engine_options or {},
                mode=mode,
                interactive_require_user_reply=interactive_require_user_reply,
                session_timeout_sec=session_timeout_sec,
                max_attempts=max_attempts,
                accepted_ttl_sec=accepted_ttl_sec,
                stall_after_sec=stall_after_sec,
            )
        except ValidationError as error:
            raise RunInputInvalid(first_fault(error)) from error
        return await self.create_session_with(settings, idempotency_key=idempotency_key)

    async def create_session_with(self, settings: RunSettings, *, idempotency_key: str | None = None) -> AgentSession:
        self._engines[settings.engine].check_options(settings.engine_options)
        session_input = SessionInput(**settings.model_dump())
        session_id, digest = _identity("session", session_input, idempotency_key)
        if digest is None or not await self._store.sessions.known_request(session_id, digest):
            await self._starter.start_session(session_id, session_input, digest)
        return self.session(session_id)

    def session(self, session_id: str) -> AgentSession:
        """A session that was created before, by anybody."""
        return AgentSession(session_id, self._temporal, self._store, self._engines, self._starter)

    async def sessions(self, limit: int = 50, cursor: str | None = None) -> SessionPage:
        return await self._store.sessions.page(limit, cursor)

    async def ping(self) -> None:
        """Raises Unavailable, saying what is missing, unless Temporal and the store both answer."""
        await self._store.ping()
        try:
            await self._temporal.service_client.check_health(timeout=RPC_TIMEOUT)
        except RPCError as error:
            raise Unavailable("The Temporal server does not answer.") from error


def _identity(kind: str, request: RunSettings, idempotency_key: str | None) -> tuple[str, str | None]:
    """An id, and with an `idempotency_key` always the same one and a digest of what it was first used for."""
    if idempotency_key is None:
        return f"{kind}-{uuid.uuid4()}", None
    # The runs' part of this name came first, and must stay as it is.
    scope = "turnwise" if kind == "run" else f"turnwise:{kind}"
    name = uuid.uuid5(uuid.NAMESPACE_URL, f"{scope}:{idempotency_key}")
    return f"{kind}-{name}", hashlib.sha256(json_bytes(request.model_dump(mode="json"))).hexdigest()
