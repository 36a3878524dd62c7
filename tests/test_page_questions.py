"""Questions on the page: a form for each kind, what is refused, the deadline, and races."""

import asyncio

import pytest
from playwright.async_api import Locator, Page, Route, expect
from pydantic import JsonValue

from tests.browser import Visits, text_of
from tests.world import ANSWER, World, until_event
from turnwise.client import Run
from turnwise.fcmp.events import EventType
from turnwise.fcmp.jsonvalue import JsonObject

COLOURS: JsonObject = {
    "kind": "choose_one",
    "prompt": "Which colour?",
    "options": [{"label": "Blue", "value": "b"}, {"label": "Red", "value": 7}],
}
CONFIRM: JsonObject = {"kind": "confirm", "prompt": "Shall I?"}
RISK: JsonObject = {"kind": "risk_ack", "prompt": "This deletes the backups."}
TEXT: JsonObject = {"kind": "open_text", "prompt": "What else?"}
FIELDS: JsonObject = {
    "kind": "fill_fields",
    "prompt": "Who, and when?",
    "required_fields": ["name", "date"],
    "response_schema": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Full name"},
            "date": {"type": "string", "format": "date"},
            "guests": {"type": "integer", "minimum": 1},
            "room": {"enum": ["small", "large"]},
            "notify": {"type": "boolean", "title": "Notify me"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
    },
}


async def asked(visits: Visits, world: World, question: JsonObject, **settings: object) -> tuple[Run, Page, Locator]:
    script: JsonObject = {"turns": [[{"ask": question}], [ANSWER]]}
    strict = bool(settings.get("strict", True))
    timeout = float(str(settings.get("timeout", 1200)))
    run = await world.turnwise.start(
        "Help me", engine_options=script, interactive_require_user_reply=strict, session_timeout_sec=timeout
    )
    page = await visits.open(f"#/runs/{run.id}")
    form = page.locator(".question.open form")
    await expect(form).to_be_visible()
    return run, page, form


async def answer_to(run: Run) -> JsonValue:
    return (await until_event(run, EventType.REPLY_ACCEPTED)).data["response"]


async def test_a_choice_is_made_with_a_button(visits: Visits, world: World) -> None:
    run, page, form = await asked(visits, world, COLOURS)
    await form.get_by_role("button", name="Red").click()
    await expect(page.locator(".answer")).to_have_text("You answered:Red")
    await expect(form).to_have_count(0)
    assert await answer_to(run) == 7


async def test_a_confirmation_is_yes_or_no(visits: Visits, world: World) -> None:
    run, page, form = await asked(visits, world, CONFIRM)
    await form.get_by_role("button", name="No").click()
    await expect(page.locator(".answer")).to_have_text("You answered:No")
    assert await answer_to(run) is False


async def test_a_risk_is_taken_only_after_it_was_acknowledged(visits: Visits, world: World) -> None:
    run, page, form = await asked(visits, world, RISK)
    await expect(form.locator(".warning")).to_be_visible()
    accept = form.get_by_role("button", name="Accept the risk")
    await expect(accept).to_be_disabled()
    await expect(form.get_by_role("button", name="Refuse")).to_be_enabled()
    await form.get_by_label("I have read this warning").check()
    await accept.click()
    await expect(page.locator(".answer")).to_have_text("You answered:Accept the risk")
    assert await answer_to(run) is True


@pytest.mark.parametrize(
    ("options", "guarded", "free"),
    [
        ([("Delete", "delete"), ("Archive", "archive"), ("Keep them", "keep")], ["Delete", "Archive"], ["Keep them"]),
        ([("Not now", False), ("Delete", "delete")], ["Delete"], ["Not now"]),
        ([("Delete", True), ("Ask again", "again")], ["Delete", "Ask again"], []),
        ([("Delete", "delete")], ["Delete"], []),
        ([("Leave it", False)], [], ["Leave it"]),
    ],
    ids=["the last of several declines", "false declines", "nothing declines", "one that accepts", "one that declines"],
)
async def test_what_declines_a_risk_needs_no_acknowledgement_and_everything_else_does(
    visits: Visits,
    world: World,
    options: list[tuple[str, str | bool]],
    guarded: list[str],
    free: list[str],
) -> None:
    listed: list[JsonValue] = [{"label": label, "value": value} for label, value in options]
    _, _, form = await asked(visits, world, {**RISK, "options": listed})
    assert await text_of(form.locator(".choice:disabled")) == guarded
    assert await text_of(form.locator(".choice:enabled")) == free
    await expect(form.get_by_role("checkbox")).to_have_count(1 if guarded else 0)
    await expect(form.locator(":focus")).to_have_count(1)
    if guarded:
        await form.get_by_role("checkbox").check()
        await expect(form.locator(".choice:disabled")).to_have_count(0)


async def test_fields_have_the_types_that_their_schema_says(visits: Visits, world: World) -> None:
    run, page, form = await asked(visits, world, FIELDS)
    await expect(form.get_by_label("Date")).to_have_attribute("type", "date")
    await expect(form.get_by_label("Guests")).to_have_attribute("type", "number")
    await form.get_by_role("button", name="Send answer").click()
    await expect(form).to_be_visible()  # the browser itself refuses empty required fields
    await form.get_by_label("Full name").fill("Ada")
    await form.get_by_label("Date").fill("2026-12-24")
    await form.get_by_label("Guests").fill("3")
    await form.get_by_label("Room").select_option(label="large")
    await form.get_by_label("Notify me").check()
    await form.get_by_label("Tags").fill('["window"]')
    await form.get_by_role("button", name="Send answer").click()
    await expect(page.locator(".answer")).to_contain_text("Full name: Ada · Date: 2026-12-24")
    expected = {"name": "Ada", "date": "2026-12-24", "guests": 3, "room": "large", "notify": True, "tags": ["window"]}
    assert await answer_to(run) == expected


async def test_a_text_is_sent_with_enter(visits: Visits, world: World) -> None:
    run, page, form = await asked(visits, world, TEXT)
    await form.get_by_label("Your answer").fill("Nothing, thanks")
    await page.keyboard.press("Enter")
    await expect(page.locator(".answer")).to_have_text("You answered:Nothing, thanks")
    assert await answer_to(run) == "Nothing, thanks"


async def test_an_answer_that_does_not_fit_is_refused_with_the_reason_and_can_be_mended(
    visits: Visits, world: World
) -> None:
    schema: JsonObject = {"type": "string", "pattern": "^[A-Z]{3}$"}
    run, page, form = await asked(visits, world, {**TEXT, "response_schema": schema})
    await form.get_by_label("Your answer").fill("euro")
    await form.get_by_role("button", name="Send answer").click()
    await expect(form.get_by_role("alert")).to_contain_text("Not sent:")
    await expect(form.get_by_label("Your answer")).to_be_focused()
    await form.get_by_label("Your answer").fill("EUR")
    await form.get_by_role("button", name="Send answer").click()
    await expect(page.locator(".answer")).to_have_text("You answered:EUR")
    assert await answer_to(run) == "EUR"


async def test_the_field_that_does_not_fit_is_marked_until_it_is_mended(visits: Visits, world: World) -> None:
    properties: JsonObject = {
        "city": {"type": "string"},
        "zip": {"type": "string", "pattern": "^[0-9]{5}$"},
        "tags": {"type": "array", "items": {"type": "string"}},
    }
    question: JsonObject = {
        "kind": "fill_fields",
        "prompt": "Where?",
        "required_fields": ["city", "zip", "tags"],
        "response_schema": {"type": "object", "properties": properties},
    }
    run, page, form = await asked(visits, world, question)
    town, code, tags = form.get_by_label("City"), form.get_by_label("Zip"), form.get_by_label("Tags")
    await town.fill("Ulm")
    await code.fill("none")
    await tags.fill("[1]")
    await form.get_by_role("button", name="Send answer").click()
    await expect(code).to_be_focused()
    await expect(form.locator("[aria-invalid=true]")).to_have_count(1)
    await code.fill("89073")
    await expect(form.locator("[aria-invalid=true]")).to_have_count(0)
    await form.get_by_role("button", name="Send answer").click()
    await expect(tags).to_be_focused()
    await tags.fill('["a"]')
    await form.get_by_role("button", name="Send answer").click()
    await expect(page.locator(".answer")).to_contain_text("You answered:")
    assert await answer_to(run) == {"city": "Ulm", "zip": "89073", "tags": ["a"]}


@pytest.mark.parametrize(
    ("question", "strict", "then"),
    [
        (COLOURS, True, "After that the agent keeps waiting for you."),
        (COLOURS, False, "After that the agent decides by itself."),
        (
            {**COLOURS, "default": 7, "default_decision_policy": "use_default"},
            False,
            "After that the default “Red” is taken.",
        ),
    ],
    ids=["strict", "engine_judgement", "use_default"],
)
async def test_the_deadline_counts_down_and_says_what_will_happen_then(
    visits: Visits, world: World, question: JsonObject, strict: bool, then: str
) -> None:
    _, page, _ = await asked(visits, world, question, strict=strict)
    deadline = page.locator(".deadline")
    await expect(deadline).to_contain_text(then)
    before = await deadline.locator(".left").inner_text()
    assert before.startswith(("19:", "20:"))
    await expect(deadline.locator(".left")).not_to_have_text(before)


async def test_a_deadline_that_passes_decides_and_the_page_says_how(visits: Visits, world: World) -> None:
    question: JsonObject = {**COLOURS, "default": "b", "default_decision_policy": "use_default"}
    _, page, _ = await asked(visits, world, question, strict=False, timeout=3)
    await expect(page.locator(".answer")).to_have_text("Nobody answered in time. The default was taken:Blue")


async def test_a_strict_question_keeps_waiting_after_its_deadline(visits: Visits, world: World) -> None:
    _, page, form = await asked(visits, world, CONFIRM, timeout=1)
    await expect(page.locator(".item.notice")).to_contain_text("The time to answer has passed.")
    await expect(page.locator(".deadline")).to_be_hidden()
    assert (await page.locator("#thread").inner_text()).count("keeps waiting for you") == 1
    await form.get_by_role("button", name="Yes").click()
    await expect(page.locator(".answer")).to_have_text("You answered:Yes")


async def test_of_two_people_who_answer_the_second_is_told_kindly_and_sees_the_first_answer(
    visits: Visits, world: World
) -> None:
    run, first, first_form = await asked(visits, world, COLOURS)
    second = await visits.open(f"#/runs/{run.id}")
    accepted = asyncio.Event()

    async def late(route: Route) -> None:
        await accepted.wait()
        await route.continue_()

    await second.route("**/interaction/reply", late)
    await second.get_by_role("button", name="Red").click()
    await first_form.get_by_role("button", name="Blue").click()
    await expect(first.locator(".answer")).to_have_text("You answered:Blue")
    accepted.set()
    await expect(second.locator(".answer")).to_have_text("Answered:Blue")
    await expect(second.locator(".note")).to_have_text("Somebody else answered first. Your answer was not used.")
    await expect(first.locator(".note")).to_have_count(0)


async def test_many_options_with_long_names_stay_inside_a_narrow_screen(visits: Visits, world: World) -> None:
    names = [f"{number}. A very long option {'without-any-space' * 4}" for number in range(40)]
    question: JsonObject = {**COLOURS, "options": [{"label": name, "value": name} for name in names]}
    run, _, _ = await asked(visits, world, question)
    narrow = await visits.open(f"#/runs/{run.id}", width=360, height=740)
    await expect(narrow.locator(".choice")).to_have_count(40)
    assert await narrow.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await narrow.evaluate("document.querySelector('#scroll').scrollWidth <= innerWidth")
    cut = "buttons => buttons.filter(({scrollHeight, clientHeight}) => scrollHeight > clientHeight).length"
    assert await narrow.eval_on_selector_all(".choice", cut) == 0
