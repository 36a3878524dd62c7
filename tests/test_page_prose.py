"""The text of an agent on the page: its markup, and how it is drawn while it grows."""

from playwright.async_api import expect

from tests.browser import Visits, text_of
from tests.world import World

EVERY_BLOCK = """# A heading
## And another

A paragraph with `code`, **strong *stars** and *emphasis*,
of two lines.
- one
- two
* three

1. first
2) second

> Quoted,
> - with a list
>> and deeper.

```
a < b

> not a quote
```
The end: https://example.com/a.
-
- a last one"""
PREFIXES = """async (text) => {
  const { Prose, prose } = await import("/static/js/prose.js");
  const growing = new Prose();
  const wrong = [];
  for (let length = 1; length <= text.length; length++) {
    growing.show(text.slice(0, length));
    if (growing.element.outerHTML !== prose(text.slice(0, length)).outerHTML) wrong.push(text.slice(0, length));
  }
  return wrong;
}"""
READ = """async () => {
  const { Prose } = await import("/static/js/prose.js");
  const line = "One more line of a long message.\\n\\n";
  const split = String.prototype.split;
  let read = 0;
  String.prototype.split = function (...given) { read += this.length; return split.apply(this, given); };
  const growing = new Prose();
  let text = "";
  for (let number = 0; number < 400; number++) growing.show((text += line));
  String.prototype.split = split;
  return [read / text.length, growing.element.childElementCount];
}"""
FRAMES = """async () => {
  const { AgentMessage } = await import("/static/js/message.js");
  const [request, cancel] = [window.requestAnimationFrame, window.cancelAnimationFrame];
  const frames = [];
  window.requestAnimationFrame = (draw) => frames.push(draw);
  window.cancelAnimationFrame = () => {};
  const message = new AgentMessage("m");
  const shown = [];
  for (const [offset, piece] of ["Many ", "small ", "pieces"].entries()) message.add([0, 5, 11][offset], piece);
  shown.push(frames.length, message.prose.element.textContent);
  frames.pop()();
  shown.push(message.prose.element.textContent);
  message.add(17, " and more");
  message.interrupt();
  shown.push(frames.length, message.prose.element.textContent);
  [window.requestAnimationFrame, window.cancelAnimationFrame] = [request, cancel];
  return shown;
}"""


async def test_markup_of_agents_is_shown_as_what_it_means(visits: Visits, world: World) -> None:
    text = "Use `make` and **care**:\n\n- one\n- two\n\n```\na < b\n```\n\nSee https://example.com/a."
    run = await world.turnwise.start("How?", engine_options={"turns": [[{"final": text}]]})
    page = await visits.open(f"#/runs/{run.id}")
    prose = page.locator(".agent .prose")
    await expect(page.locator(".end")).to_be_visible()
    await expect(prose.locator("p code")).to_have_text("make")
    await expect(prose.locator("strong")).to_have_text("care")
    assert await text_of(prose.locator("li")) == ["one", "two"]
    await expect(prose.locator("pre")).to_have_text("a < b")
    await expect(prose.locator("a")).to_have_attribute("href", "https://example.com/a")


async def test_emphasis_and_quotes_are_shown_and_other_stars_are_left_alone(visits: Visits, world: World) -> None:
    text = "> She said:\n> - *now*\n\nIt is *really `so`*, and 2*3*4 is 24 * 1 * 1."
    run = await world.turnwise.start("Quote", engine_options={"turns": [[{"final": text}]]})
    page = await visits.open(f"#/runs/{run.id}")
    prose = page.locator(".agent .prose")
    await expect(page.locator(".end")).to_be_visible()
    await expect(prose.locator("blockquote > p")).to_have_text("She said:")
    await expect(prose.locator("blockquote > ul em")).to_have_text("now")
    assert await text_of(prose.locator("em")) == ["now", "really so"]
    await expect(prose.locator(":scope > p")).to_have_text("It is really so, and 2*3*4 is 24 * 1 * 1.")


async def test_quotes_in_quotes_go_no_deeper_than_one(visits: Visits) -> None:
    page = await visits.open()
    depth = """async () => {
      const { prose } = await import("/static/js/prose.js");
      return prose(">  ".repeat(20_000) + "deep").querySelectorAll("blockquote").length;
    }"""
    assert await page.evaluate(depth) == 1


async def test_a_text_that_grows_looks_at_every_moment_as_if_it_had_come_at_once(visits: Visits) -> None:
    page = await visits.open()
    assert await page.evaluate(PREFIXES, EVERY_BLOCK) == []


async def test_of_a_text_that_grows_only_the_end_is_read_again(visits: Visits) -> None:
    page = await visits.open()
    read, blocks = await page.evaluate(READ)
    assert blocks == 400
    assert read < 5  # times its length; all of it each time would be 200


async def test_a_message_is_drawn_once_per_frame_and_whole_when_it_ends(visits: Visits) -> None:
    page = await visits.open()
    assert await page.evaluate(FRAMES) == [1, "", "Many small pieces", 1, "Many small pieces and more"]
