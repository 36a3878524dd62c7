"""Settings, from the environment. Temporal's own (`TEMPORAL_*`) are read by `temporalio.envconfig`."""

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from turnwise.runs import Recovery

LogLevel = Literal["debug", "info", "warning", "error"]
Port = Annotated[int, Field(ge=1, le=65535)]

LOCAL_HOSTS = ["localhost", "127.0.0.1", "::1", "[::1]"]


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="TURNWISE_", env_ignore_empty=True)

    data_dir: Path = Path(".turnwise")
    """Where the embedded Temporal server and the default database keep their files."""
    api_host: str = "127.0.0.1"
    api_port: Port = 8000
    api_allowed_hosts: str | None = None
    """Comma-separated `Host` names that the API answers to; `*` for any. Not set: local names on a loopback address
    (a page in a browser must not reach the API by a name of its own), any name elsewhere."""
    temporal_port: Port = 7233
    temporal_ui_port: Port = 8233
    temporal_ui_url: str | None = None
    """Where people reach Temporal's Web UI; known by itself for the embedded server."""
    database_url: str | None = Field(default=None, repr=False)
    """`postgresql://…` or `sqlite:///…`; a SQLite file in `data_dir` when not set."""
    task_queue: str = "turnwise"
    recovery: Recovery = Recovery.RECONCILE
    """What becomes of a turn that a dead worker leaves behind: the run fails, or the turn is run again."""
    grace_sec: float = Field(default=10.0, ge=0, le=3600)
    """How long a worker that is told to stop lets its turns go on."""
    tools: str | None = None
    """A Python module of one's own whose `tools` (a `NativeTools`) sessions may use."""
    mcp_config: Path | None = None
    """A JSON file, `{"mcpServers": {…}}`: the MCP servers whose tools sessions may use."""
    tool_timeout_sec: float = Field(default=60.0, gt=0, le=3600)
    """How long a call of a tool may take."""
    metrics_port: Port | None = None
    """Where a worker that is alone in its process shows its metrics; the API has `/metrics`."""
    metrics_host: str = "127.0.0.1"
    log_level: LogLevel = "info"

    @property
    def store_url(self) -> str:
        return self.database_url or f"sqlite:///{(self.data_dir / 'turnwise.db').resolve()}"

    @property
    def allowed_hosts(self) -> list[str]:
        if self.api_allowed_hosts is not None:
            return [host.strip() for host in self.api_allowed_hosts.split(",") if host.strip()]
        return LOCAL_HOSTS if self.api_host in LOCAL_HOSTS else ["*"]

    @property
    def external_temporal(self) -> bool:
        """Whether somebody else runs the Temporal server."""
        return bool(os.environ.get("TEMPORAL_ADDRESS") or os.environ.get("TEMPORAL_PROFILE"))

    @property
    def ui_url(self) -> str | None:
        if self.temporal_ui_url is not None:
            return self.temporal_ui_url.rstrip("/")
        return None if self.external_temporal else f"http://127.0.0.1:{self.temporal_ui_port}"
