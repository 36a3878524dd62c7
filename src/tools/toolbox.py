"""The tools of one turn."""

from collections.abc import Iterable

from turnwise.descriptors import ToolBinding, ToolDescriptor, ToolOutcome
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.tools.outcomes import failed
from turnwise.tools.tools import Tools

MAX_CALLS = 100
"""An engine that calls on and on does not do so for ever."""


class Toolbox:
    def __init__(self, tools: Tools, bindings: Iterable[ToolBinding], max_calls: int = MAX_CALLS) -> None:
        self._tools = tools
        self._bindings = {binding.descriptor.name: binding for binding in bindings}
        self._max_calls = max_calls
        self._calls = 0

    def descriptors(self) -> list[ToolDescriptor]:
        """The tools that may be called."""
        return [binding.descriptor for binding in self._bindings.values() if binding.descriptor.enabled]

    def knows(self, name: str) -> bool:
        """Whether there is such a tool, enabled or not."""
        return name in self._bindings

    async def call(self, name: str, arguments: JsonObject) -> ToolOutcome:
        self._calls += 1
        if self._calls > self._max_calls:
            return failed(f"The tool '{name}' was not called: a turn may call tools {self._max_calls} times.")
        binding = self._bindings.get(name)
        if binding is None or not binding.descriptor.enabled:
            usable = ", ".join(sorted(each.name for each in self.descriptors())) or "none"
            fault = "is disabled" if binding else "is not known"
            return failed(f"The tool '{name}' {fault}. Usable here: {usable}.")
        return await self._tools.call(binding, arguments)
