"""What a workflow does in the store: local activities, each one transaction, each safe to repeat."""

from pydantic import BaseModel, Field
from temporalio import activity

from turnwise.activities.slots import Slots
from turnwise.fcmp.events import DiagnosticWarning, ErrorInfo
from turnwise.store import Store
from turnwise.store.records import Resolution, TurnClosing
from turnwise.store.registration import Registration


class ResolveRequest(BaseModel):
    run_id: str
    resolution: Resolution = Field(discriminator="resolution_mode")


class WarnRequest(BaseModel):
    run_id: str
    key: str
    warning: DiagnosticWarning


class CancelWaitRequest(BaseModel):
    run_id: str
    message: str


class AbandonRequest(BaseModel):
    run_id: str
    attempt: int
    warning: DiagnosticWarning


class PreserveRequest(BaseModel):
    run_id: str
    restart_id: str
    interaction_id: int


class ReconcileRequest(BaseModel):
    run_id: str
    error: ErrorInfo


class QuestionRequest(BaseModel):
    run_id: str
    interaction_id: int


class Resolved(BaseModel):
    resolution: Resolution | None = Field(discriminator="resolution_mode")
    next_turn_starts_at_once: bool = False
    """As far as this worker can tell: it has a slot free for it."""


class Publishing:
    def __init__(self, store: Store, slots: Slots) -> None:
        self._store = store
        self._slots = slots

    @activity.defn
    async def register(self, registration: Registration) -> None:
        await self._store.register(registration)

    @activity.defn
    async def resolve(self, request: ResolveRequest) -> Resolved:
        resolution = await self._store.resolve(request.run_id, request.resolution)
        at_once = resolution is not None and self._slots.promise(request.run_id)
        return Resolved(resolution=resolution, next_turn_starts_at_once=at_once)

    @activity.defn
    async def close_turn(self, closing: TurnClosing) -> None:
        await self._store.close_turn(closing)

    @activity.defn
    async def cancel_wait(self, request: CancelWaitRequest) -> None:
        await self._store.cancel_wait(request.run_id, request.message)

    @activity.defn
    async def abandon_turn(self, request: AbandonRequest) -> None:
        await self._store.abandon_turn(request.run_id, request.attempt, request.warning)

    @activity.defn
    async def preserve_wait(self, request: PreserveRequest) -> None:
        await self._store.preserve_wait(request.run_id, request.restart_id, request.interaction_id)

    @activity.defn
    async def reconcile(self, request: ReconcileRequest) -> None:
        await self._store.reconcile(request.run_id, request.error)

    @activity.defn
    async def has_asked(self, request: QuestionRequest) -> bool:
        interaction = await self._store.interaction(request.run_id, request.interaction_id)
        return interaction is not None and interaction.resolution is None

    @activity.defn
    async def warn(self, request: WarnRequest) -> None:
        await self._store.warn(request.run_id, request.key, request.warning)
