"""`turnwise sessions tools`: what a session may call."""

import sys

from rich.table import Table
from rich.text import Text

from turnwise.api.session_models import ToolList
from turnwise.cli.consoles import console, progress, write_json
from turnwise.cli.execution import ExitCode
from turnwise.cli.options import Output
from turnwise.cli.targets import Target
from turnwise.descriptors import ToolDescriptor
from turnwise.wording.texts import clean


async def list_tools(target: Target, session_id: str, output: Output) -> ExitCode:
    async with target.connect() as turnwise:
        session = turnwise.session(session_id)
        await session.view()  # an unknown session is an error, not one without tools
        tools = await session.tool_descriptors()
    if output is Output.JSON or tools:
        _show(tools, output)
    else:
        add = target.command("sessions", "tools", "add", session_id, "clock.now")
        sys.stderr.write(f"This session has no tools. Add one: {add}\n")
    return ExitCode.OK


async def add(target: Target, session_id: str, name: str | None, server: str | None, output: Output) -> ExitCode:
    async with target.connect() as turnwise:
        with progress("The worker looks at the tools …", output):
            tools = await turnwise.session(session_id).register(name, server=server)
    _show(tools, output)
    return ExitCode.OK


async def remove(target: Target, session_id: str, name: str, output: Output) -> ExitCode:
    async with target.connect() as turnwise:
        session = turnwise.session(session_id)
        await session.unregister(name)
        tools = await session.tool_descriptors()
    if output is Output.JSON:
        _show(tools, output)
    else:
        console().print(Text(f"✓ The session no longer has {clean(name)}.", style="good"))
    return ExitCode.OK


async def switch(target: Target, session_id: str, name: str, output: Output, *, enabled: bool) -> ExitCode:
    async with target.connect() as turnwise:
        session = turnwise.session(session_id)
        await (session.enable(name) if enabled else session.disable(name))
        tools = await session.tool_descriptors()
    if output is Output.JSON:
        _show(tools, output)
    else:
        may = "may be called" if enabled else "may not be called any more"
        console().print(Text(f"✓ {clean(name)} {may}.", style="good"))
    return ExitCode.OK


def _show(tools: list[ToolDescriptor], output: Output) -> None:
    if output is Output.JSON:
        write_json(ToolList(tools=tools).model_dump(mode="json"))
        return
    table = Table(box=None, pad_edge=False, header_style="quiet")
    for column in ("TOOL", "FROM", "ENABLED"):
        table.add_column(column, no_wrap=True)
    table.add_column("WHAT IT DOES", overflow="ellipsis", no_wrap=True, ratio=1)
    for tool in tools:
        enabled = Text("yes", style="good") if tool.enabled else Text("no", style="warn")
        table.add_row(Text(clean(tool.name)), tool.source.value, enabled, Text(clean(tool.short_description)))
    console().print(table)
