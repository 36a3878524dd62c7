"""How the page looks and reads: light and dark, wide and narrow, and to somebody who does not see it."""

import re

from playwright.async_api import Page, expect

from tests.browser import Scheme, Visits
from tests.world import WAIT_FOREVER, World
from turnwise.fcmp.jsonvalue import JsonObject

SCHEMES: list[Scheme] = ["light", "dark"]
LONG_WORD = "Donaudampfschifffahrtsgesellschaftskapitän" * 6
EVERYTHING: JsonObject = {
    "turns": [
        [
            {"say": f"{LONG_WORD}\n\n```\n{'x' * 300}\n```"},
            {"tool": {"name": "a_tool_with_a_long_name" * 3, "arguments": {"path": LONG_WORD}, "result": LONG_WORD}},
            {"ask": {"kind": "fill_fields", "prompt": LONG_WORD, "required_fields": ["name", LONG_WORD]}},
        ],
        [WAIT_FOREVER],
    ]
}
HEBREW = "שלום עולם, זה משפט ארוך שנכתב מימין לשמאל ואינו נכנס בכותרת של העמוד אלא אם כן היא רחבה מאוד"
LEFTWARDS: JsonObject = {
    "turns": [
        [
            {"say": f"# {HEBREW}\n\n{HEBREW}\n\n- {HEBREW}\n\n> {HEBREW}\n\n```\ncode\n```"},
            {"tool": {"name": "look", "arguments": {"for": HEBREW}, "result": ""}},
            {"ask": {"kind": "choose_one", "prompt": HEBREW, "options": [{"label": HEBREW, "value": 1}]}},
        ],
        [{"ask": {"kind": "open_text", "prompt": HEBREW}}],
        [{"ask": {"kind": "fill_fields", "prompt": "Who?", "required_fields": [HEBREW]}}],
    ]
}
STARTS_INSIDE = """element => {
  const first = document.createRange();
  first.setStart(element.firstChild, 0);
  first.setEnd(element.firstChild, 1);
  const [letter, box] = [first.getBoundingClientRect(), element.getBoundingClientRect()];
  return element.scrollWidth > element.clientWidth && letter.right <= box.right + 1 && letter.left >= box.right - 40;
}"""
CONTRAST = """() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = (color) => {
    const linear = (c) => c <= 10 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = channels(color).slice(0, 3).map(linear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const color = getComputedStyle(each).backgroundColor;
      if (channels(color)[3] !== 0) return color;
    }
  };
  const shown = [...document.querySelectorAll("body *")].filter((element) =>
    element.checkVisibility({opacityProperty: true}) && !element.closest("svg, :disabled, .unseen, .skip") &&
    [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()));
  return shown.map((element) => {
    const [a, b] = [light(getComputedStyle(element).color), light(ground(element))].sort((x, y) => y - x);
    return [(a + 0.05) / (b + 0.05), element.textContent.trim().slice(0, 40)];
  }).filter(([ratio]) => ratio < 4.5);
}"""


async def opened(visits: Visits, world: World, *, width: int = 1280) -> Page:
    run = await world.turnwise.start(LONG_WORD, engine_options=EVERYTHING)
    page = await visits.open(f"#/runs/{run.id}", width=width)
    await expect(page.locator(".question.open")).to_be_visible()
    return page


async def test_every_text_can_be_read_in_light_and_in_dark(visits: Visits, world: World) -> None:
    page = await opened(visits, world)
    await expect(page.locator("#temporal-link")).to_be_visible()
    for scheme in SCHEMES:
        await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        brightness = sum(int(value) for value in re.findall(r"\d+", ground)[:3]) / 3
        assert (brightness < 60) == (scheme == "dark")
        assert await page.evaluate(CONTRAST) == []


async def test_nothing_is_wider_than_the_screen(visits: Visits, world: World) -> None:
    page = await opened(visits, world, width=1024)
    await page.locator(".tool summary").click()
    await expect(page.locator(".tool .body")).to_be_visible()
    for width in (1024, 768, 390, 320):
        await page.set_viewport_size({"width": width, "height": 740})
        await fits(page, width)


async def fits(page: Page, width: int) -> None:
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    assert await page.evaluate(
        "document.querySelector('#scroll').scrollWidth <= document.querySelector('#scroll').clientWidth"
    )
    await page.get_by_role("button", name="Details").click()
    await expect(page.locator(".chart")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    await page.keyboard.press("Escape")
    await expect(page.locator("#inspector")).to_be_hidden()
    await expect(page.get_by_role("button", name="Details")).to_be_focused()


async def test_text_that_runs_from_right_to_left_is_laid_out_from_right_to_left(visits: Visits, world: World) -> None:
    session = await world.turnwise.create_session()
    page = await visits.open(f"#/sessions/{session.id}", width=1200)
    await session.submit(HEBREW, engine_options=LEFTWARDS)
    await page.locator(".choice").click()
    await page.get_by_label("Your answer").fill(HEBREW)
    await runs_leftwards(page, "textarea[name=answer]")
    await page.get_by_role("button", name="Send answer").click()
    await page.locator(".card .field input").fill(HEBREW)
    await page.locator("#message").fill(HEBREW)
    for place in ("#title", "#list [aria-current] .title", ".bubble", ".agent .heading", ".agent p", ".agent ul"):
        await runs_leftwards(page, place)
    for place in (".agent li", ".agent blockquote p", ".gist", ".question p", ".answer strong", ".card label"):
        await runs_leftwards(page, place)
    await runs_leftwards(page, ".card input")
    await runs_leftwards(page, "#message")
    assert await direction(page, ".agent pre") == "ltr"
    for cut in ("#title", "#list [aria-current] .title"):
        assert await page.locator(cut).evaluate(STARTS_INSIDE)


async def runs_leftwards(page: Page, place: str) -> None:
    assert (place, await direction(page, place)) == (place, "rtl")


async def direction(page: Page, place: str) -> str:
    return str(await page.locator(place).first.evaluate("element => getComputedStyle(element).direction"))


async def test_on_a_phone_the_list_is_a_screen_of_its_own(visits: Visits, world: World) -> None:
    page = await opened(visits, world, width=390)
    await expect(page.locator("#sidebar")).to_be_hidden()
    await page.get_by_role("button", name="Menu").click()
    await expect(page.locator("#sidebar")).to_be_visible()
    await expect(page.locator("#conversation")).to_be_hidden()
    await page.get_by_role("link", name="New conversation").click()
    await expect(page.locator("#sidebar")).to_be_hidden()
    await expect(page.get_by_role("heading", name="What shall the agent do?")).to_be_visible()


async def test_a_screen_reader_finds_its_way_and_hears_only_what_matters(visits: Visits, world: World) -> None:
    session = await world.turnwise.create_session()
    page = await visits.open(f"#/sessions/{session.id}")
    await expect(page.locator("#composer")).to_be_visible()
    for role in ("navigation", "main", "complementary"):
        await expect(page.get_by_role(role)).to_have_count(1)
    await expect(page.get_by_role("heading", level=1)).to_have_count(1)
    text = "A message that is written in many small pieces, which nobody wants to hear one by one."
    ask: JsonObject = {"ask": {"kind": "confirm", "prompt": "Shall I go on?"}}
    await session.submit("Hello", engine_options={"turns": [[{"say": text}, ask], [{"final": "Done."}]]})
    await page.get_by_role("button", name="Yes").click()
    await expect(page.locator(".end")).to_be_visible()
    heard = await page.locator("#announcer p").all_inner_texts()
    assert heard == [f"Agent: {text}", "The agent asks: Shall I go on?", "Agent: Done.", "Completed in 2 turns"]


async def test_every_control_has_a_name(visits: Visits, world: World) -> None:
    page = await opened(visits, world)
    snapshot = await page.locator("body").aria_snapshot()
    nameless = [
        line.strip()
        for line in snapshot.splitlines()
        if re.match(r"\s*- (button|link|textbox|checkbox|radio|combobox)\s*(\[|:|$)", line)
    ]
    assert nameless == []
