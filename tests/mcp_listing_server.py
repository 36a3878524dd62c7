"""An MCP server whose tools and results are whatever a JSON file says at the moment: `{"pages": [[tool, …], …],
"endless": bool, "results": {tool: result}, "error": text}`."""

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError


def said() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
    return content


async def list_tools(
    _: ServerRequestContext[object], params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    content = said()
    if "error" in content:
        raise MCPError(types.INTERNAL_ERROR, content["error"])
    number = int(params.cursor) if params and params.cursor else 0
    more = content.get("endless") or number + 1 < len(content["pages"])
    page = content["pages"][number % len(content["pages"])]
    return types.ListToolsResult(
        tools=[types.Tool.model_validate(tool) for tool in page], next_cursor=str(number + 1) if more else None
    )


async def call_tool(_: ServerRequestContext[object], params: types.CallToolRequestParams) -> types.CallToolResult:
    return types.CallToolResult.model_validate(said()["results"][params.name])


async def main() -> None:
    server: Server[object] = Server("listing", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
