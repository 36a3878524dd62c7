"""The tools of a worker, as its settings name them."""

import sys
from pathlib import Path

import pytest

from tests.mcp_process import STDIO, config_file
from turnwise.descriptors import ToolRequest, ToolSource
from turnwise.errors import SetupError
from turnwise.settings import Settings
from turnwise.tools import default_tools

GREETING = """
from turnwise.tools import NativeTools

tools = NativeTools()

@tools.tool()
def greet(name: str) -> str:
    "Greets somebody."
    return f"Hello, {name}."
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the worker is started; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path


async def test_the_tools_of_a_module_beside_the_builtin_ones_and_those_of_servers(folder: Path) -> None:
    (folder / "greeting_tools.py").write_text(GREETING)
    tools = default_tools(Settings(tools="greeting_tools", mcp_config=config_file(folder, test=STDIO)))
    for request in (
        ToolRequest(source=ToolSource.NATIVE, name="greet"),
        ToolRequest(source=ToolSource.NATIVE, name="clock.now"),
        ToolRequest(source=ToolSource.MCP, server="test", name="add"),
    ):
        (binding,) = await tools.describe(request)
        assert binding.descriptor.name == request.name
    await tools.close()


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        (None, "cannot be imported: ModuleNotFoundError: No module named 'broken_tools'."),
        ("def", "cannot be imported: SyntaxError: invalid syntax (broken_tools.py, line 1)."),
        ("raise ValueError('one\\ntwo')", "cannot be imported: ValueError: one."),
        ("raise SystemExit", "cannot be imported: SystemExit."),
        ("tools = 5", "has no NativeTools called `tools`."),
        (GREETING.replace("tool()", "tool(name='x\\x00')"), "cannot be imported: ValueError: the tool 'x\\x00' cannot"),
    ],
)
def test_a_module_that_cannot_be_used_is_told_in_one_sentence(folder: Path, code: str | None, fault: str) -> None:
    if code is not None:
        (folder / "broken_tools.py").write_text(code)
    with pytest.raises(SetupError) as refused:
        default_tools(Settings(tools="broken_tools"))
    assert refused.value.message.startswith(f"The module 'broken_tools' (TURNWISE_TOOLS) {fault}")
    assert "\n" not in refused.value.message


def test_a_tool_may_not_take_the_name_of_a_builtin_one(folder: Path) -> None:
    (folder / "clock_tools.py").write_text(GREETING.replace("tool()", "tool(name='clock.now')"))
    with pytest.raises(SetupError, match=r"The tools of 'clock_tools' .* already a tool 'clock.now'."):
        default_tools(Settings(tools="clock_tools"))
