"""What servers say about their tools: on many pages, changing, too much, or nonsense; and results that are nonsense."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.mcp_process import config_file, listing, tools_of
from turnwise.descriptors import ToolBinding, ToolOutcome, ToolRequest, ToolSource
from turnwise.errors import ToolServerUnavailable, ToolUnusable
from turnwise.fcmp.events import ToolStatus
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.tools import Tools
from turnwise.tools.config import read_config

Say = Callable[..., None]


@pytest.fixture
def say(tmp_path: Path) -> Say:
    """What the server says from now on."""

    def say(*pages: list[JsonObject], **more: object) -> None:
        (tmp_path / "said.json").write_text(json.dumps({"pages": pages, **more}))

    return say


@pytest.fixture
async def tools(tmp_path: Path) -> AsyncIterator[Tools]:
    async with tools_of(read_config(config_file(tmp_path, it=listing(tmp_path / "said.json")))) as tools:
        yield tools


def tool(name: str, **more: object) -> JsonObject:
    return {"name": name, "inputSchema": {"type": "object"}, **more}  # type: ignore[dict-item]


async def listed(tools: Tools, name: str | None = None) -> list[ToolBinding]:
    return await tools.describe(ToolRequest(source=ToolSource.MCP, server="it", name=name))


async def names(tools: Tools) -> list[str]:
    return [binding.descriptor.name for binding in await listed(tools)]


async def test_all_pages_are_read(tools: Tools, say: Say) -> None:
    say([tool("a"), tool("b")], [], [tool("c")], [tool("d")])
    assert await names(tools) == ["a", "b", "c", "d"]


async def test_the_list_is_as_it_is_now(tools: Tools, say: Say) -> None:
    say([tool("a"), tool("b", description="Old.")])
    assert await names(tools) == ["a", "b"]
    say([tool("b", description="New."), tool("c")])
    assert await names(tools) == ["b", "c"]
    assert (await listed(tools, "b"))[0].descriptor.description == "New."


async def test_a_server_may_have_no_tools(tools: Tools, say: Say) -> None:
    say([])
    assert await names(tools) == []


async def test_a_tool_without_a_description_is_described_by_its_title_or_not_at_all(tools: Tools, say: Say) -> None:
    say([tool("a", title="The first"), tool("b")])
    assert [binding.descriptor.description for binding in await listed(tools)] == ["The first", ""]


async def test_a_tool_that_is_listed_twice_is_one_tool(tools: Tools, say: Say) -> None:
    say([tool("a"), tool("a")])
    assert await names(tools) == ["a"]


@pytest.mark.parametrize("pages", [[[]], [[tool("a")]], [[tool(str(number)) for number in range(1001)]]])
async def test_a_list_without_an_end_is_not_read_to_it(tools: Tools, say: Say, pages: list[list[JsonObject]]) -> None:
    say(*pages, endless=True)
    with pytest.raises(ToolServerUnavailable, match="lists tools without an end: more than 1000"):
        await listed(tools)


def nested(levels: int) -> JsonObject:
    schema: JsonObject = {}
    for _ in range(levels):
        schema = {"not": schema}
    return {"type": "object", **schema}


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (tool(""), "name: String should have at least 1 character"),
        (tool("x" * 201), "name: String should have at most 200 characters"),
        (tool("a\nb"), "name: String should match pattern"),
        (tool("big", inputSchema={"type": "object", "title": "x" * 70_000}), "the schema of its arguments has 70028"),
        (tool("deep", inputSchema=nested(150)), "parameters: Value error, This is nested deeper than 100 levels."),
        (tool("number", inputSchema={"type": "object", "minimum": 2**70}), "parameters: Value error, This cannot be"),
    ],
    ids=["no name", "long name", "two lines", "big", "deep", "number"],
)  # fmt: skip
async def test_a_tool_that_nobody_could_use_is_refused_and_the_others_can_be_had_by_name(
    tools: Tools, say: Say, bad: JsonObject, fault: str
) -> None:
    say([tool("good"), bad])
    with pytest.raises(ToolUnusable) as refused:
        await listed(tools)
    assert f"of the server 'it' cannot be used: {fault}" in refused.value.message
    assert len(refused.value.message) < 500
    assert "\n" not in refused.value.message
    assert [binding.descriptor.name for binding in await listed(tools, "good")] == ["good"]


async def test_a_long_description_is_clipped(tools: Tools, say: Say) -> None:
    say([tool("a", description="x" * 1_000_000)])
    ((descriptor,),) = [[binding.descriptor for binding in await listed(tools)]]
    assert (len(descriptor.description), len(descriptor.short_description)) == (4000, 80)


@pytest.mark.parametrize(
    ("result", "fault"),
    [
        ({"content": [], "isError": True}, "The tool failed without saying why."),
        ({"content": [{"type": "text", "text": "no"}], "isError": True}, "no"),
        ({"content": []}, "gave no result: RuntimeError: Tool a has an output schema but did not return structured"),
        ({"content": [], "structuredContent": {"sum": "three"}}, "gave no result: RuntimeError: Invalid structured"),
    ],
)  # fmt: skip
async def test_a_result_that_is_none_is_a_failed_outcome(
    tools: Tools, say: Say, result: JsonObject, fault: str
) -> None:
    schema: JsonObject = {"type": "object", "properties": {"sum": {"type": "integer"}}}
    say([tool("a", outputSchema=schema)], results={"a": result})
    (binding,) = await listed(tools)
    outcome = await tools.call(binding, {})
    assert outcome.status is ToolStatus.FAILED
    assert fault in str(outcome.result)


async def test_a_tool_that_the_server_no_longer_has_fails_when_it_is_called(tools: Tools, say: Say) -> None:
    say([tool("a")], results={"a": {"content": [], "structuredContent": {"sum": 3}}})
    (binding,) = await listed(tools)
    assert await tools.call(binding, {}) == ToolOutcome(status=ToolStatus.COMPLETED, result={"sum": 3})
    say([], results={})
    assert (await tools.call(binding, {})).status is ToolStatus.FAILED
