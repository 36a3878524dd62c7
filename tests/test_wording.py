"""How things are said to people: every status in words, the same on each screen, and how long a question waits."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from turnwise.api.page.serving import FILES
from turnwise.fcmp.jsonvalue import JsonObject, iso
from turnwise.fcmp.questions import OpenQuestion
from turnwise.sessions import ItemSource
from turnwise.status import Reason, Status, StatusView
from turnwise.wording.sessions import SOURCES
from turnwise.wording.statuses import SENTENCES, WORDS, status_sentence, status_words
from turnwise.wording.texts import clean
from turnwise.wording.times import countdown, deadline, span

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


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "0 s"), (2.34, "2.3 s"), (59.98, "60 s"), (60, "60 s"), (61, "1 min 1 s"), (7300, "2 h 1 min")],
)
def test_a_length_of_time_is_as_exact_as_it_is_worth_reading(seconds: float, words: str) -> None:
    assert span(seconds) == words


def test_who_decides_at_the_deadline_does_so_in_whole_seconds() -> None:
    asked = {"kind": "confirm", "prompt": "Sure?", "interaction_id": 1, "deadline": iso(NOW + timedelta(seconds=60))}
    a_moment_later = NOW + timedelta(seconds=0.3)
    words = deadline(OpenQuestion.model_validate(asked), a_moment_later, strict=False)
    assert words == "Without a reply, the agent decides in 60 s."


@pytest.mark.parametrize("character", ["\x1b", "\x07", "\x9b", "\u202e", "\u2066", "\u200f", "\u2028"])
def test_what_could_turn_or_move_the_text_around_it_is_not_shown(character: str) -> None:
    assert clean(f"a{character}b") == "a\ufffdb"


def test_letters_and_emoji_of_all_kinds_are_shown_as_they_are() -> None:
    text = "Zażółć شكرا 👩\u200d🚀\n\tnext"
    assert clean(text) == text


@pytest.mark.parametrize("source", ItemSource)
def test_how_an_input_came_is_said_in_words(source: ItemSource) -> None:
    assert "_" not in SOURCES[source]
