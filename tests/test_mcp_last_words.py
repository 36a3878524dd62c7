"""A server of tools that dies before it answers says why on its standard error; whoever wanted it is told."""

import sys
from pathlib import Path

import pytest

from tests.mcp_process import config_file, tools_of
from turnwise.descriptors import ToolRequest, ToolSource
from turnwise.errors import ToolServerUnavailable
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.tools.config import read_config
from turnwise.tools.transports import LAST_WORDS_LENGTH


async def refusal(folder: Path, program: str, **env: str) -> str:
    server: JsonObject = {"command": sys.executable, "args": ["-c", program], "env": dict(env)}
    async with tools_of(read_config(config_file(folder, test=server))) as tools:
        with pytest.raises(ToolServerUnavailable) as refused:
            await tools.describe(ToolRequest(source=ToolSource.MCP, server="test"))
        return refused.value.message


async def test_the_last_words_of_a_server_that_dies_are_told(tmp_path: Path) -> None:
    assert await refusal(tmp_path, "import no_such_module") == (
        "The tool server 'test' is not available: it has gone before it answered "
        "(its last words: ModuleNotFoundError: No module named 'no_such_module')."
    )


async def test_they_are_short_and_hold_no_secret(tmp_path: Path) -> None:
    program = "import os, sys; sys.exit(os.environ['KEY'] + ' is wrong\\x1b[2J' + ' very' * 1000)"
    message = await refusal(tmp_path, program, KEY="sesame-open")
    assert "(its last words: *** is wrong\ufffd[2J very very" in message
    assert "sesame" not in message
    assert len(message) < LAST_WORDS_LENGTH + 120


async def test_a_server_that_says_nothing_has_no_last_words(tmp_path: Path) -> None:
    message = await refusal(tmp_path, "pass")
    assert message == "The tool server 'test' is not available: it has gone before it answered."
