"""One open conversation: its stream goes in here, and from here to every part of the screen that shows it."""

import uuid
from dataclasses import dataclass

from pydantic import JsonValue
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

from turnwise.adapters.tui.composer import Composer
from turnwise.adapters.tui.connection import ConnectionLine
from turnwise.adapters.tui.conversations import Conversation, OpenSession
from turnwise.adapters.tui.outages import followed, through_outages
from turnwise.adapters.tui.question import QuestionForm
from turnwise.adapters.tui.queue import Queue
from turnwise.adapters.tui.status_line import StatusLine
from turnwise.adapters.tui.thread import Thread
from turnwise.client import Turnwise
from turnwise.errors import AlreadyAnswered, InteractionStale, NotWaiting, TurnwiseError
from turnwise.fcmp.events import EventType, FcmpEvent
from turnwise.sessions import SessionState, SessionView, StreamingBehavior
from turnwise.status import StatusView
from turnwise.store.records import LiveMessage, RunView, StoredEvent
from turnwise.store.watching import Delta, Frame, QueueChanged, SessionSnapshot, Snapshot, StatusChanged
from turnwise.wording.texts import clean, one_line, sentence

TITLE_LENGTH = 200
WRITE = "Write a message; Enter sends it"
NOT_HERE = "A run on its own takes no further messages"
CLOSED = "This session takes no further messages"


class ConversationPane(Vertical):
    DEFAULT_CSS = """
    ConversationPane { width: 1fr; height: 1fr; }
    ConversationPane > #title {
        height: 1;
        padding: 0 3;
        text-style: bold;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """

    @dataclass
    class Changed(Message):
        """Something that the list and the keys depend on."""

    def __init__(self, turnwise: Turnwise) -> None:
        super().__init__()
        self._turnwise = turnwise
        self.conversation: Conversation | None = None
        """None while a new session is about to be begun."""
        self.status: StatusView | None = None
        self._known_until = 0
        """Where the log was when we connected: up to there it is the past."""
        self._live: LiveMessage | None = None
        self.thread = Thread()
        self.queue = Queue()
        self.composer = Composer()
        self.connection = ConnectionLine()
        self._title = Static("", id="title", markup=False)
        self._status_line = StatusLine()

    def compose(self) -> ComposeResult:
        yield self._title
        yield self.thread
        yield self.connection
        yield self.queue
        yield self._status_line
        yield self.composer

    @property
    def session(self) -> OpenSession | None:
        return self.conversation if isinstance(self.conversation, OpenSession) else None

    def open(self, conversation: Conversation, draft: str = "") -> None:
        self.conversation = conversation
        self._reset("", draft)
        self._follow(conversation)

    def begin(self) -> None:
        """A new session, which exists from its first message on."""
        self.conversation = None
        self.workers.cancel_group(self, "stream")
        self._reset("New session", "")
        self._settle_empty()

    # The stream

    @work(group="stream", exclusive=True)
    async def _follow(self, conversation: Conversation) -> None:
        try:
            async for frame in followed(conversation, self.connection.lost):
                await self._take(conversation, frame)
        except TurnwiseError as error:
            self._title.update(clean(sentence(error.message)))
            self._settle_empty()

    async def _take(self, conversation: Conversation, frame: Frame) -> None:
        match frame:
            case SessionSnapshot(session=view, queue=queue, cursor=cursor, message=message):
                self.queue.show(queue)
                self._allow_writing(CLOSED if view.state is SessionState.CLOSED else None)
                await self._connected(conversation, view, cursor, message)
            case Snapshot(run=run, cursor=cursor, message=message):
                self._allow_writing(NOT_HERE)
                await self._connected(conversation, run, cursor, message)
            case StoredEvent(seq=seq, body=body):
                event = FcmpEvent.model_validate_json(body)
                self.thread.apply(event)
                if event.type is EventType.CONVERSATION_STARTED and not self._title.content:
                    self._show_title(str(event.data["prompt"]))
                if seq == self._known_until:
                    await self._caught_up(conversation)
            case Delta(message_id=message_id, offset=offset, text=text, run_id=run_id):
                self.thread.write(run_id or conversation.id, message_id, offset, text)
            case QueueChanged(items=items):
                self.queue.show(items)
                self.post_message(self.Changed())
            case StatusChanged(status=status):
                self._show_status(status)
            case _:
                pass

    async def _connected(
        self, conversation: Conversation, view: SessionView | RunView, cursor: int, message: LiveMessage | None
    ) -> None:
        self.connection.found()
        self.thread.obey(mode=view.mode, strict=view.interactive_require_user_reply)
        self._show_title(view.prompt_preview)
        self._show_status(view.status)
        self._known_until, self._live = view.last_seq, message
        if cursor >= view.last_seq:
            await self._caught_up(conversation)

    async def _caught_up(self, conversation: Conversation) -> None:
        if not self.thread.is_settled:
            runs = self.thread.runs
            inherited = await through_outages(lambda: conversation.inherited(runs), self.connection.lost)
            await self.thread.settle(inherited)
        if self._live is not None:
            self.thread.write(self._live.run_id or conversation.id, self._live.message_id, 0, self._live.text)

    # What the person does

    @on(Composer.Sent)
    def _sent(self, event: Composer.Sent) -> None:
        event.stop()
        self.composer.clear()
        self._send(event.text)

    @work(group="sending")
    async def _send(self, text: str) -> None:
        """It is shown when the log has it, not before."""
        key, behavior = str(uuid.uuid4()), StreamingBehavior.FOLLOW_UP
        try:
            if self.session is None:
                created = await through_outages(
                    lambda: self._turnwise.create_session(idempotency_key=key), self.connection.lost
                )
                self.open(OpenSession(created))
            assert self.session is not None
            session = self.session.session
            await through_outages(
                lambda: session.submit(text, streaming_behavior=behavior, prompt_id=key), self.connection.lost
            )
            self.connection.found()
        except TurnwiseError as refusal:
            self.tell(refusal)
            if not self.composer.text:
                self.composer.draft(text)

    @on(QuestionForm.Answered)
    def _answered(self, event: QuestionForm.Answered) -> None:
        event.stop()
        self._reply(event.form, event.response)

    @work(group="replies")
    async def _reply(self, form: QuestionForm, response: JsonValue) -> None:
        run, reply_id = self._turnwise.run(form.run_id), str(uuid.uuid4())
        self.thread.own_replies.add(reply_id)
        try:
            await through_outages(
                lambda: run.reply(form.question.interaction_id, response, reply_id=reply_id), self.connection.lost
            )
            self.connection.found()
        except (AlreadyAnswered, InteractionStale, NotWaiting):
            pass  # the log tells who was first
        except TurnwiseError as refusal:
            form.refuse(refusal.message)
            return
        self.composer.focus()

    def tell(self, refusal: TurnwiseError) -> None:
        self.notify(clean(sentence(refusal.message)), severity="error", markup=False)

    # What is shown

    def _reset(self, title: str, draft: str) -> None:
        self.thread.begin()
        self.queue.show([])
        self._show_title(title)
        self._show_status(None)
        self._allow_writing(None)
        self.composer.draft(draft)
        self.composer.focus()

    @work(group="settling", exclusive=True)
    async def _settle_empty(self) -> None:
        await self.thread.settle([])

    def _show_title(self, prompt: str) -> None:
        self._title.update(one_line(prompt, TITLE_LENGTH))

    def _show_status(self, status: StatusView | None) -> None:
        self.status = status
        self._status_line.show(status)
        self.post_message(self.Changed())

    def _allow_writing(self, refusal: str | None) -> None:
        self.composer.disabled = refusal is not None
        self.composer.placeholder = refusal or WRITE
