"""What a tool is described with, and under which name a session has it."""

import pytest

from turnwise.descriptors import (
    MAX_TOOLS,
    ToolBinding,
    ToolDescriptor,
    ToolRequest,
    ToolSource,
    registered,
    shortened,
)
from turnwise.errors import ToolLimitReached, ToolNameTaken
from turnwise.fcmp.jsonvalue import JsonObject


def tool(name: str, server: str | None = None, about: str = "") -> ToolBinding:
    source = ToolSource.MCP if server else ToolSource.NATIVE
    return ToolBinding(descriptor=ToolDescriptor.of(name, about, {}, source), server=server, remote_name=name)


def names(tools: list[ToolBinding]) -> list[str]:
    return [binding.descriptor.name for binding in tools]


@pytest.mark.parametrize(
    ("description", "short"),
    [
        ("", ""),
        ("Adds. And more.", "Adds."),
        ("\n\n  First line\nsecond", "First line"),
        ("Uses e.g. a file. Then ends.", "Uses e.g. a file."),
        ("加法。然后", "加法。"),
        ("x" * 100, "x" * 79 + "…"),
        ("👩‍👩‍👧" * 81, "👩‍👩‍👧" * 79 + "…"),
    ],
)
def test_the_short_description_is_the_first_sentence_or_line(description: str, short: str) -> None:
    assert shortened(description) == short


def test_a_long_description_is_clipped_and_a_large_schema_refused() -> None:
    assert len(ToolDescriptor.of("a", "x" * 100_000, {}, ToolSource.MCP).description) == 4000
    with pytest.raises(ValueError, match="the schema of its arguments has 70018 bytes; at most 65536"):
        ToolDescriptor.of("a", "", {"description": "x" * 70_000}, ToolSource.MCP)


@pytest.mark.parametrize(
    "request_",
    [
        {"source": "native"},
        {"source": "native", "name": "a", "server": "b"},
        {"source": "mcp", "name": "a"},
        {"source": "mcp", "server": ""},
        {"source": "elsewhere", "name": "a"},
        {"source": "native", "name": "a", "command": "rm"},
    ],
)
def test_a_request_says_where_the_tool_is(request_: JsonObject) -> None:
    with pytest.raises(ValueError, match="validation error"):
        ToolRequest.model_validate(request_)


def test_a_tool_has_its_own_name_as_long_as_nobody_else_has_it() -> None:
    tools = registered([], [tool("search", "wiki"), tool("read", "wiki")])
    tools = registered(tools, [tool("search", "files"), tool("write", "files")])
    tools = registered(tools, [tool("search")])
    assert names(tools) == ["search", "read", "files.search", "write", "native.search"]
    assert [binding.remote_name for binding in tools] == ["search", "read", "search", "write", "search"]


def test_a_tool_that_is_registered_again_keeps_its_name_its_place_and_whether_it_is_enabled() -> None:
    tools = registered([], [tool("search", "wiki"), tool("search", "files", "Old."), tool("read", "files")])
    tools[1].descriptor.enabled = False
    tools = registered(tools[1:], [tool("search", "files", "New.")])
    assert names(tools) == ["files.search", "read"]
    assert (tools[0].descriptor.description, tools[0].descriptor.enabled) == ("New.", False)


def test_a_whole_server_is_taken_as_it_is_now() -> None:
    tools = registered([], [tool("a", "one"), tool("b", "one"), tool("c", "two"), tool("d")])
    assert names(registered(tools, [tool("b", "one"), tool("e", "one")], "one")) == ["b", "c", "d", "e"]
    assert names(registered(tools, [tool("b", "one")])) == ["a", "b", "c", "d"]
    assert names(registered(tools, [], "one")) == ["c", "d"]


def test_a_tool_that_can_have_no_name_is_refused() -> None:
    taken = registered([], [tool("c", "x"), tool("b.c", "a")])
    with pytest.raises(ToolNameTaken, match=r"another tool 'c', and 'b.c' cannot be its name either"):
        registered(taken, [tool("c", "b")])
    long = "x" * 200
    with pytest.raises(ToolNameTaken):
        registered([tool(long, "a")], [tool(long, "b")])


def test_a_session_has_a_limited_number_of_tools() -> None:
    full = registered([], [tool(str(number)) for number in range(MAX_TOOLS)])
    assert registered(full, [tool("0")]) == full
    with pytest.raises(ToolLimitReached, match=f"may have {MAX_TOOLS} tools; with these it would have {MAX_TOOLS + 1}"):
        registered(full, [tool("one more")])
