"""Every command of `turnwise sessions tools` with its flags."""

from typing import Annotated

import typer

from turnwise.cli.execution import ExitCode, execute
from turnwise.cli.options import CLIENT, Flags, Json, SessionId, output, takes
from turnwise.cli.targets import Target

tools = typer.Typer(no_args_is_help=True, help="What a session may call.")

ToolName = Annotated[str, typer.Argument(metavar="TOOL", help="The tool, as `list` has it.", show_default=False)]


@tools.command("list")
@takes(CLIENT)
def list_(flags: Flags, session_id: SessionId, json: Json = False) -> None:
    """List the tools of a session."""

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.session_tools import list_tools

        return await list_tools(target, session_id, output(json))

    execute(flags, work, output(json))


@tools.command()
@takes(CLIENT)
def add(
    flags: Flags,
    session_id: SessionId,
    name: Annotated[
        str | None, typer.Argument(metavar="TOOL", help="Without it, all tools of the server.", show_default=False)
    ] = None,
    server: Annotated[
        str | None, typer.Option(help="An MCP server that the worker is configured with.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Add a native tool that the worker knows by name, or the tools of an MCP server."""
    if name is None and server is None:
        raise typer.BadParameter("name a tool, or a --server", param_hint="TOOL")

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.session_tools import add

        return await add(target, session_id, name, server, output(json))

    execute(flags, work, output(json))


@tools.command()
@takes(CLIENT)
def remove(flags: Flags, session_id: SessionId, name: ToolName, json: Json = False) -> None:
    """Take a tool away from a session."""

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.session_tools import remove

        return await remove(target, session_id, name, output(json))

    execute(flags, work, output(json))


@tools.command()
@takes(CLIENT)
def enable(flags: Flags, session_id: SessionId, name: ToolName, json: Json = False) -> None:
    """Let a disabled tool be called again."""
    _switch(flags, session_id, name, enabled=True, json=json)


@tools.command()
@takes(CLIENT)
def disable(flags: Flags, session_id: SessionId, name: ToolName, json: Json = False) -> None:
    """Keep a tool in the list, but let it not be called."""
    _switch(flags, session_id, name, enabled=False, json=json)


def _switch(flags: Flags, session_id: str, name: str, *, enabled: bool, json: bool) -> None:
    async def work(target: Target) -> ExitCode:
        from turnwise.cli.session_tools import switch

        return await switch(target, session_id, name, output(json), enabled=enabled)

    execute(flags, work, output(json))
