"""Native tools: Python functions that the worker knows by name."""

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec, TypeVar

from pydantic import TypeAdapter, ValidationError, validate_call

from turnwise.descriptors import ToolBinding, ToolDescriptor, ToolSource
from turnwise.errors import ToolUnknown, first_fault
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.tools.outcomes import CallFailed, failure_of
from turnwise.tools.threads import on_a_thread

STOP_SEC = 5.0
"""How long a function that was told to stop is waited for before it is left to itself."""

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class _NativeTool:
    descriptor: ToolDescriptor
    call: Callable[..., object]
    waits: bool
    """Whether it is an async function."""


class NativeTools:
    """Functions with type hints and a docstring become tools. One that is not async runs on a thread of its own, and
    goes on there after a timeout: a thread cannot be stopped."""

    def __init__(self) -> None:
        self._tools: dict[str, _NativeTool] = {}

    def tool(
        self, *, name: str | None = None, description: str | None = None
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """The decorator: `@tools.tool()`, or with a name and a description other than the function's own."""

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            self.add(function, name=name, description=description)
            return function

        return decorate

    def add(self, function: Callable[..., object], *, name: str | None = None, description: str | None = None) -> None:
        name = name or function.__name__
        if name in self._tools:
            raise ValueError(f"there is already a tool '{name}'")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise ValueError(f"the tool '{name}' yields; a tool returns its result")
        parameters = TypeAdapter(function).json_schema()  # type: ignore[arg-type] # functions are taken, but not typed
        if parameters.get("type") != "object":
            raise ValueError(f"the tool '{name}' takes arguments without a name")
        about = description or inspect.getdoc(function) or ""
        try:
            descriptor = ToolDescriptor.of(name, about, parameters, ToolSource.NATIVE)
        except ValidationError as error:
            raise ValueError(f"the tool {name!r} cannot be used: {first_fault(error)}") from error
        self._tools[name] = _NativeTool(descriptor, validate_call(function), inspect.iscoroutinefunction(function))

    def include(self, others: "NativeTools") -> None:
        for name, tool in others._tools.items():
            if name in self._tools:
                raise ValueError(f"there is already a tool '{name}'")
            self._tools[name] = tool

    def binding(self, name: str) -> ToolBinding:
        return ToolBinding(descriptor=self._known(name).descriptor, server=None, remote_name=name)

    async def call(self, name: str, arguments: JsonObject, timeout_sec: float) -> object:
        """Raises CallFailed when the function is not known here, raises, or does not return in time."""
        try:
            tool = self._known(name)
        except ToolUnknown as error:
            raise CallFailed(error.message) from error
        running = asyncio.create_task(_run(tool, arguments))
        running.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            await asyncio.wait({running}, timeout=timeout_sec)
        finally:
            if overdue := not running.done():
                running.cancel()
                await asyncio.wait({running}, timeout=STOP_SEC)
        if overdue:
            raise CallFailed(f"The tool '{name}' did not finish within {timeout_sec:g} s.")
        if running.cancelled():  # by itself: nobody told it to
            raise CallFailed(f"The tool '{name}' was canceled from within.")
        return running.result()

    def _known(self, name: str) -> _NativeTool:
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(sorted(self._tools))
            raise ToolUnknown(f"There is no native tool '{name}'. Known here: {known}.")
        return tool


async def _run(tool: _NativeTool, arguments: JsonObject) -> object:
    call = partial(tool.call, **arguments)
    try:
        found = call() if tool.waits else await on_a_thread(call)
        return await found if inspect.isawaitable(found) else found
    except (Exception, SystemExit) as error:
        raise failure_of(error) from error
