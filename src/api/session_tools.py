"""`/v1/sessions/{id}/tools`: what a session may call."""

from fastapi import APIRouter

from turnwise.api.dependencies import OneSession
from turnwise.api.problems import responses
from turnwise.api.session_models import ToolChange, ToolList
from turnwise.descriptors import ToolDescriptor, ToolRequest

router = APIRouter(prefix="/v1/sessions/{session_id}/tools", tags=["sessions"])


@router.get("", responses=responses(404, 422, 503))
async def list_tools(session: OneSession) -> ToolList:
    return ToolList(tools=await session.tool_descriptors())


@router.post("", status_code=201, responses=responses(400, 404, 409, 413, 422, 502, 503))
async def register_tools(session: OneSession, request: ToolRequest) -> ToolList:
    """A native tool by its name, a tool of an MCP server, or without a name all of that server's."""
    return ToolList(tools=await session.register_tools(request))


# A name may have a slash in it: MCP allows that.
@router.delete("/{name:path}", status_code=204, responses=responses(404, 409, 422, 503))
async def unregister_tool(session: OneSession, name: str) -> None:
    await session.unregister(name)


@router.patch("/{name:path}", responses=responses(400, 404, 409, 413, 422, 503))
async def change_tool(session: OneSession, name: str, change: ToolChange) -> ToolDescriptor:
    """A disabled tool stays in the list, and may not be called."""
    await (session.enable(name) if change.enabled else session.disable(name))
    return next(tool for tool in await session.tool_descriptors() if tool.name == name)
