"""All tools of a worker, native ones and those of servers, behind one door."""

from turnwise.descriptors import ToolBinding, ToolOutcome, ToolRequest
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.tools.arguments import check_arguments
from turnwise.tools.native import NativeTools
from turnwise.tools.outcomes import CallFailed, completed, failed
from turnwise.tools.servers import ToolServers

TIMEOUT_SEC = 60.0


class Tools:
    def __init__(self, native: NativeTools, servers: ToolServers, *, timeout_sec: float = TIMEOUT_SEC) -> None:
        self._native = native
        self._servers = servers
        self._timeout_sec = timeout_sec

    async def describe(self, request: ToolRequest) -> list[ToolBinding]:
        """Raises ToolUnknown, or ToolServerUnavailable."""
        if request.server is not None:
            return await self._servers.bindings(request.server, request.name)
        return [self._native.binding(request.name or "")]

    async def call(self, binding: ToolBinding, arguments: JsonObject) -> ToolOutcome:
        """Never raises: whatever goes wrong is a failed outcome, which whoever called can read and act on."""
        try:
            check_arguments(binding.descriptor.parameters, arguments)
            if binding.server is not None:
                return completed(
                    await self._servers.call(binding.server, binding.remote_name, arguments, self._timeout_sec)
                )
            return completed(await self._native.call(binding.remote_name, arguments, self._timeout_sec))
        except CallFailed as error:
            return failed(str(error))

    async def close(self) -> None:
        """Ends the servers that were started."""
        await self._servers.close()
