"""The small agent that answers when no script is given: enough to try every kind of question by hand."""

import re

from turnwise.engines.script import Step
from turnwise.fcmp.questions import Kind, Option, Question

_ALTERNATIVES = re.compile(r"(?<![\w'’-])([\w'’-]{1,100}) or ([\w'’-]{1,100})", re.IGNORECASE)
_RISKY = re.compile(r"\b(delete|drop|deploy|pay|publish|remove|send)\b", re.IGNORECASE)
_BOOKING = re.compile(r"\b(book|order|register|reserve)\b", re.IGNORECASE)
_PERMISSION = re.compile(r"\b(may|shall|should)\s+(i|we|you)\b", re.IGNORECASE)


def first_turn(prompt: str) -> list[Step]:
    question = _question(prompt)
    if question is None:
        return [Step(final=f"You said: “{prompt.strip()}”. I had nothing to ask, so here is your answer.")]
    return [Step(say="Let me make sure that I get this right."), Step(ask=question)]


def next_turn(reply: str) -> list[Step]:
    if not reply:
        return [Step(final="Without a reply I decide by myself, and that completes this run.")]
    return [Step(final="Thank you. I go with “{reply}”, and that completes this run.")]


def _question(prompt: str) -> Question | None:
    if not prompt.strip():
        return Question(kind=Kind.OPEN_TEXT, prompt="What would you like me to do?")
    if found := _ALTERNATIVES.search(prompt):
        options = [Option(label=text, value=text) for text in dict.fromkeys(found.groups())]
        return Question(kind=Kind.CHOOSE_ONE, prompt="Which of these do you prefer?", options=options)
    if _RISKY.search(prompt):
        return Question(
            kind=Kind.RISK_ACK, prompt=f"This cannot be undone: “{prompt.strip()}”. Do you accept the risk?"
        )
    if _BOOKING.search(prompt):
        fields = ["name", "date"]
        return Question(kind=Kind.FILL_FIELDS, prompt="Who is it for, and when?", required_fields=fields)
    if _PERMISSION.search(prompt):
        return Question(kind=Kind.CONFIRM, prompt="Shall I go ahead?")
    return None
