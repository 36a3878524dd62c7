"""The tools of this worker, as its settings name them."""

import importlib
import sys
from pathlib import Path

from turnwise.errors import SetupError
from turnwise.settings import Settings
from turnwise.tools.builtin import builtin_tools
from turnwise.tools.config import read_config
from turnwise.tools.native import NativeTools
from turnwise.tools.outcomes import told
from turnwise.tools.servers import ToolServers
from turnwise.tools.tools import Tools


def default_tools(settings: Settings) -> Tools:
    native = builtin_tools()
    if settings.tools is not None:
        try:
            native.include(_imported(settings.tools))
        except ValueError as error:
            raise SetupError(f"The tools of '{settings.tools}' (TURNWISE_TOOLS) cannot be used: {error}.") from error
    config = read_config(settings.mcp_config) if settings.mcp_config is not None else None
    return Tools(native, ToolServers(config), timeout_sec=settings.tool_timeout_sec)


def _imported(module: str) -> NativeTools:
    folder = str(Path.cwd())
    if folder not in sys.path:  # a file beside the one who starts us is found; it hides nothing
        sys.path.append(folder)
    try:
        found = getattr(importlib.import_module(module), "tools", None)
    except (Exception, SystemExit) as error:  # whatever somebody else's code raises
        reason = told(error).splitlines()[0]
        raise SetupError(f"The module '{module}' (TURNWISE_TOOLS) cannot be imported: {reason}.") from error
    if not isinstance(found, NativeTools):
        raise SetupError(f"The module '{module}' (TURNWISE_TOOLS) has no NativeTools called `tools`.")
    return found
