"""How things are said to people: every status in words, the same on each screen, and how long a question waits."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from turnwise.api.page.serving import FILES
from turnwise.fcmp.jsonvalue import JsonObject, iso
from turnwise.fcmp.questions import OpenQuestion
from turnwise.status import Reason, Status, StatusView
from turnwise.wording.statuses import SENTENCES, WORDS, status_sentence, status_words
from turnwise.wording.times import countdown

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def view(status: Status, reason: Reason) -> StatusView:
    later = iso(NOW + timedelta(minutes=2))
    return StatusView(
        session_id=None, run_id="run-1", status=status, reason=reason, timestamp=later, last_activity_at=iso(NOW)
    )


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("reason", Reason)
def test_every_status_can_be_said_whatever_its_reason(status: Status, reason: Reason) -> None:
    assert "{" not in status_sentence(view(status, reason))
    assert status_words(view(status, reason))


def test_a_silence_is_told_with_the_moment_of_the_last_output() -> None:
    stalled = view(Status.STALLED, Reason.SILENCE_ELAPSED)
    assert NOW.astimezone().strftime("%H:%M:%S") in status_sentence(stalled)


def test_the_page_says_the_same_sentences() -> None:
    script = FILES / "js" / "status.js"
    table = re.search(r"SENTENCES = \{(.*?)\n\};", script.read_text(encoding="utf-8"), re.DOTALL)
    assert table is not None
    lines = re.findall(r'^  "?([a-z_ ]+?)"?: ("[^"]*"),$', table[1], re.MULTILINE)
    said = {" ".join(part.value for part in key if part): sentence for key, sentence in SENTENCES.items()}
    assert {key: json.loads(sentence) for key, sentence in lines} == said
    assert set(WORDS) <= set(SENTENCES)


@pytest.mark.parametrize(
    ("left", "strict", "more", "words"),
    [
        (62, True, {}, "1:02 left to answer; after that the agent keeps waiting for you."),
        (0.5, False, {}, "0:01 left to answer; after that the agent decides."),
        (3 * 3600, False, {}, "3:00:00 left to answer; after that the agent decides."),
        (5 * 86400, False, {}, "5 days left to answer; after that the agent decides."),
        (
            5,
            False,
            {"default": {"name": "Ann"}, "default_decision_policy": "use_default"},
            "0:05 left to answer; after that the default is taken (name=Ann).",
        ),
        (-1, True, {}, "The time to answer has passed; the agent keeps waiting for you."),
        (-1, False, {}, "The time to answer has passed."),
    ],
)
def test_a_question_says_how_long_it_waits_and_what_happens_then(
    left: float, strict: bool, more: JsonObject, words: str
) -> None:
    asked = {"kind": "fill_fields", "prompt": "Who?", "required_fields": ["name"], "interaction_id": 1, **more}
    question = OpenQuestion.model_validate({**asked, "deadline": iso(NOW + timedelta(seconds=left))})
    assert countdown(question, NOW, strict=strict) == words
