"""Tools: native functions and those of MCP servers, behind one registry."""

from turnwise.tools.loading import default_tools
from turnwise.tools.native import NativeTools
from turnwise.tools.servers import ToolServers
from turnwise.tools.toolbox import Toolbox
from turnwise.tools.tools import Tools

__all__ = ["NativeTools", "ToolServers", "Toolbox", "Tools", "default_tools"]
