"""The terminal UI: one screen on the same stream that everybody watches."""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import ClassVar

from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Footer

from turnwise.adapters.tui.conversations import Conversation, OpenRun, OpenSession
from turnwise.adapters.tui.fork import ForkScreen
from turnwise.adapters.tui.pane import ConversationPane
from turnwise.adapters.tui.sidebar import Sidebar
from turnwise.client import Turnwise
from turnwise.errors import TurnwiseError, Unavailable
from turnwise.sessions import SessionView
from turnwise.status import Reason, Status, StatusView
from turnwise.store.records import RunView

LISTED_SESSIONS = 50
LISTED_RUNS = 100
REFRESH_SEC = 2.0
UNDER_WAY = {Status.ACCEPTED, Status.AWAITING_OUTPUT, Status.ACTIVE_OUTPUT, Status.STALLED}


class TerminalUi(App[None]):
    TITLE = "Turnwise"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (64, "-normal"), (110, "-wide")]  # noqa: RUF012
    CSS = """
    Screen { background: $background; }
    #columns { height: 1fr; }
    .-normal Sidebar { width: 24; }
    .-wide Sidebar { width: 36; }
    .-narrow Sidebar { display: none; }
    QuestionForm Button.choice:focus { background: $primary; color: $text; text-style: bold; background-tint: 0%; }
    .-narrow.-listing Sidebar { display: block; width: 1fr; }
    .-narrow.-listing ConversationPane { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "new", "New"),
        Binding("f3", "fork", "Fork"),
        Binding("f4", "cancel", "Cancel"),
        Binding("f5", "list", "List"),
        Binding("f8", "clear_queue", "Clear queue"),
        Binding("escape", "write", "Write", show=False),
        Binding("ctrl+q", "quit", "Quit", priority=True),
    ]

    def __init__(self, turnwise: Turnwise, conversation_id: str | None = None) -> None:
        super().__init__()
        self._turnwise = turnwise
        self._wanted = conversation_id
        self._news = asyncio.Event()
        """Something has changed that the list should show before its next regular look."""
        self.sidebar = Sidebar()
        self.pane = ConversationPane(turnwise)

    def compose(self) -> ComposeResult:
        with Horizontal(id="columns"):
            yield self.sidebar
            yield self.pane
        yield Footer()

    def on_mount(self) -> None:
        if self._wanted is not None:
            self.open(self._wanted)
        else:
            self.pane.begin()
        self._keep_list()

    def open(self, conversation_id: str, draft: str = "") -> None:
        self.screen.remove_class("-listing")
        is_run = conversation_id.startswith("run-")
        conversation: Conversation = (
            OpenRun(self._turnwise.run(conversation_id))
            if is_run
            else OpenSession(self._turnwise.session(conversation_id))
        )
        self.pane.open(conversation, draft)
        self._news.set()

    # The list

    @work(group="list")
    async def _keep_list(self) -> None:
        while True:
            self._news.clear()
            try:
                await self._turnwise.ping()
                sessions = await self._turnwise.sessions(LISTED_SESSIONS)
                runs = await self._turnwise.runs(limit=LISTED_RUNS)
            except Unavailable as error:
                self.pane.connection.lost(error.message)
            else:
                self.pane.connection.found()
                self._show_list(sessions.sessions, runs.runs)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), REFRESH_SEC)

    def _show_list(self, sessions: list[SessionView], runs: list[RunView]) -> None:
        self.sidebar.show(sessions, runs)
        if self.pane.conversation is not None and not self.sidebar.has_focus:
            self.sidebar.point_at(self.pane.conversation.id)

    @on(Sidebar.Chosen)
    def _chosen(self, event: Sidebar.Chosen) -> None:
        self.open(event.id)

    @on(ConversationPane.Changed)
    def _changed(self) -> None:
        self._news.set()
        self.refresh_bindings()

    # The keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A key is shown while it does something."""
        match action:
            case "fork":
                return self.pane.session is not None
            case "cancel":
                return _is_under_way(self.pane.status)
            case "clear_queue":
                return bool(self.pane.queue.items)
        return True

    def action_new(self) -> None:
        self.screen.remove_class("-listing")
        self.pane.begin()

    def action_write(self) -> None:
        self.screen.remove_class("-listing")
        self.pane.composer.focus()

    def action_list(self) -> None:
        self.screen.add_class("-listing")
        self.sidebar.focus()

    @work(group="actions")
    async def action_cancel(self) -> None:
        if self.pane.conversation is not None:
            with self._refusals():
                await self.pane.conversation.cancel()

    @work(group="actions")
    async def action_clear_queue(self) -> None:
        if self.pane.session is not None:
            with self._refusals():
                await self.pane.session.session.clear_pending_state()

    @work(group="actions")
    async def action_fork(self) -> None:
        """Before something that the user has said, which can then be said differently."""
        if self.pane.session is None:
            return
        session = self.pane.session.session
        with self._refusals():
            messages = await session.forkable_user_messages()
            chosen = await self.push_screen_wait(ForkScreen(messages)) if messages else None
            if chosen is not None:
                forked = await session.fork(chosen.entry_index)
                self.open(forked.id, chosen.text)

    @contextlib.contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except TurnwiseError as refusal:
            self.pane.tell(refusal)


def _is_under_way(status: StatusView | None) -> bool:
    return status is not None and (status.status in UNDER_WAY or status.reason is Reason.QUESTION_ASKED)
