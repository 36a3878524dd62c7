"""What comes while a part of the terminal UI is just being put on the screen is on the screen in the end."""

from textual.app import App
from textual.widgets import Button, Markdown, Static

from turnwise.adapters.tui.messages import AgentMessage
from turnwise.adapters.tui.question import QuestionForm
from turnwise.fcmp.events import MessageFinal
from turnwise.fcmp.questions import OpenQuestion

QUESTION = OpenQuestion.model_validate(
    {"interaction_id": 1, "kind": "confirm", "prompt": "Go on?", "deadline": "2999-01-01T00:00:00.000000Z"}
)


class MessageThatIsFinishedEarly(AgentMessage):
    """When what it is made of stands already, and Textual does not yet call it mounted."""

    def on_mount(self) -> None:
        self.finish(MessageFinal(message_id="m1", text="All of it."))


class QuestionThatIsAnsweredEarly(QuestionForm):
    def on_mount(self) -> None:
        self.resolve("Answered elsewhere: true")


async def test_a_message_that_is_finished_while_it_appears_is_not_cut_off() -> None:
    message = MessageThatIsFinishedEarly()
    message.write(0, "All")
    async with App[None]().run_test() as pilot:
        await pilot.app.mount(message)
        await pilot.pause()
        assert message.query_one(Markdown).source == "All of it."


async def test_a_question_that_is_answered_while_it_appears_is_closed() -> None:
    form = QuestionThatIsAnsweredEarly("run-1", QUESTION, strict=True)
    async with App[None]().run_test() as pilot:
        await pilot.app.mount(form)
        await pilot.pause()
        assert [str(each.content) for each in form.query(".outcome").results(Static)] == ["Answered elsewhere: true"]
        assert not form.query(Button)
