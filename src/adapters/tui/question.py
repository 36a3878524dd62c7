"""A question as a form: buttons for choices and confirmations, fields to fill in, a plain warning before a risk."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import JsonValue
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Button, Input, Label, Static

from turnwise.errors import ResponseInvalid
from turnwise.fcmp.questions import Kind, OpenQuestion
from turnwise.wording.answers import answering, as_text, field_names, is_choice
from turnwise.wording.texts import clean, sentence, shown
from turnwise.wording.times import countdown

TICK_SEC = 1.0


class QuestionForm(Vertical):
    DEFAULT_CSS = """
    QuestionForm {
        height: auto;
        border: round $accent;
        padding: 0 1;
        margin: 1 0 0 0;
    }
    QuestionForm.-risk { border: heavy $error; border-title-color: $text-error; border-title-style: bold; }
    QuestionForm.-answered { border: round $surface-lighten-2; }
    QuestionForm .prompt { text-style: bold; margin: 0 0 1 0; }
    QuestionForm.-answered .prompt { text-style: none; margin: 0; }
    QuestionForm .context, QuestionForm .deadline { color: $text-muted; }
    QuestionForm .refusal { color: $text-error; display: none; }
    QuestionForm .outcome { color: $text-success; }
    QuestionForm .controls { height: auto; margin: 0 0 1 0; }
    QuestionForm .buttons { height: 1; }
    QuestionForm .field { height: 1; margin: 0 0 1 0; }
    QuestionForm .field Label { width: 16; text-wrap: nowrap; text-overflow: ellipsis; }
    QuestionForm Button { margin: 0 2 0 0; padding: 0 2; min-width: 8; }
    QuestionForm .choice { width: 1fr; margin: 0; content-align: left middle; text-align: left; text-style: none; }
    QuestionForm Input { width: 1fr; background: $boost; padding: 0 1; }
    QuestionForm Input:focus { background: $primary-muted; }
    """

    @dataclass
    class Answered(Message):
        """The person has answered; whether that is accepted is not known yet."""

        form: "QuestionForm"
        response: JsonValue

    def __init__(self, run_id: str, question: OpenQuestion, *, strict: bool) -> None:
        super().__init__(classes="-risk" if question.kind is Kind.RISK_ACK else "")
        self.run_id = run_id
        self.question = question
        self.outcome: str | None = None
        """How it was answered; None while it is open."""
        self._strict = strict
        self._answered_with: Widget | None = None
        """The control that the person was at; it loses the focus while the answer is on its way."""
        if question.kind is Kind.RISK_ACK:
            self.border_title = "Risk"

    def compose(self) -> ComposeResult:
        yield Static(clean(self.question.prompt), classes="prompt", markup=False)
        for name, value in (self.question.context or {}).items():
            yield Static(f"{clean(name)}: {shown(value)}", classes="context", markup=False)
        if self.outcome is not None:
            yield Static(self.outcome, classes="outcome", markup=False)
            return
        with Vertical(classes="controls"):
            yield from self._controls()
        yield Static("", classes="refusal", markup=False)
        yield Static(self._countdown(), classes="deadline", markup=False)

    def on_mount(self) -> None:
        if self.outcome is None:
            self.set_interval(TICK_SEC, self._tick)

    def on_key(self, event: events.Key) -> None:
        """Up and down go from button to button."""
        if event.key in {"up", "down"} and isinstance(self.app.focused, Button):
            event.stop()
            buttons = list(self.query(Button))
            step = 1 if event.key == "down" else -1
            buttons[(buttons.index(self.app.focused) + step) % len(buttons)].focus()

    def resolve(self, outcome: str) -> None:
        """It is answered, here or elsewhere, or decided by its deadline."""
        self.outcome = clean(outcome)
        self.add_class("-answered")
        self.remove_class("-risk")
        if self.is_attached:  # not only when it is mounted: what it is made of stands before that
            self.disabled = False
            self.refresh(recompose=True)

    def refuse(self, message: str) -> None:
        """The answer was not accepted, and the question is still open."""
        self.disabled = False
        if self._answered_with is not None and self.app.focused is None:
            self._answered_with.focus()
        refusal = self.query_one(".refusal", Static)
        refusal.display = True
        refusal.update(clean(sentence(message)))

    def take_focus(self) -> None:
        """On what to answer with; never on the button that accepts a risk."""
        if self.outcome is None:
            controls = [each for each in self.query("Input, Button") if each.id != "yes"]
            if self.question.kind is Kind.CONFIRM or not controls:
                controls = list(self.query("Input, Button"))
            controls[0].focus()

    def _controls(self) -> Iterable[Widget]:
        question = self.question
        if is_choice(question):
            for place, option in enumerate(question.options):
                yield Button(Content(clean(option.label)), id=f"option-{place}", classes="choice", compact=True)
        elif question.kind in {Kind.CONFIRM, Kind.RISK_ACK}:
            risky = question.kind is Kind.RISK_ACK
            words, variant = ("I accept the risk", "error") if risky else ("Yes", "primary")
            yes = Button(words, variant, id="yes", compact=True)  # type: ignore[arg-type]
            yield Horizontal(yes, Button("No", id="no", compact=True), classes="buttons")
        else:
            yield from self._fields()
            suggestions = [
                Button(Content(clean(option.label)), id=f"option-{place}", compact=True)
                for place, option in enumerate(question.options)
            ]
            yield Horizontal(*suggestions, Button("Send", "primary", id="send", compact=True), classes="buttons")

    def _fields(self) -> Iterable[Widget]:
        question = self.question
        names = field_names(question) if question.kind is Kind.FILL_FIELDS else []
        known = question.default if isinstance(question.default, dict) else {}
        for name in names:
            value = as_text(known[name]) if name in known else ""
            placeholder = "" if name in question.required_fields else "may be left empty"
            field = Input(value, placeholder=placeholder, compact=True)
            yield Horizontal(Label(clean(name), markup=False), field, classes="field")
        if not names:
            wants_json = question.kind is Kind.FILL_FIELDS
            placeholder = "A JSON object" if wants_json else "Your answer"
            value = "" if question.default is None else as_text(question.default)
            yield Horizontal(Input(value, placeholder=placeholder, compact=True), classes="field")

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        match event.button.id:
            case "yes" | "no" as answer:
                self._answer(answer == "yes")
            case "send":
                self._send()
            case str() as option:
                self._answer(self.question.options[int(option.removeprefix("option-"))].value)

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        """Enter goes to the next field, and from the last one sends them all."""
        event.stop()
        fields = list(self.query(Input))
        following = fields[fields.index(event.input) + 1 :]
        if following:
            following[0].focus()
        else:
            self._send()

    def _send(self) -> None:
        """What is in the fields is understood as what is typed at a prompt."""
        dialog = answering(self.question)
        try:
            taken = [dialog.take(field.value) for field in self.query(Input)]
        except ResponseInvalid as refusal:
            self.refuse(refusal.message)
            return
        if taken[-1] is not None:
            self._answer(taken[-1].value)

    def _answer(self, response: JsonValue) -> None:
        self._answered_with = self.app.focused
        self.disabled = True
        self.post_message(self.Answered(self, response))

    def _tick(self) -> None:
        if self.outcome is None:
            self.query_one(".deadline", Static).update(self._countdown())

    def _countdown(self) -> str:
        return countdown(self.question, datetime.now(UTC), strict=self._strict)
