"""Logging: one line an event, for people on a terminal, as JSON elsewhere."""

import logging
import sys

import structlog
from temporalio.runtime import (
    LogForwardingConfig,
    LoggingConfig,
    Runtime,
    TelemetryConfig,
    TelemetryFilter,
)

from turnwise.settings import LogLevel


def configure_logs(level: LogLevel) -> None:
    readable = sys.stderr.isatty()
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    renderer = structlog.dev.ConsoleRenderer() if readable else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=shared))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    # Temporal's SDK tells as a warning what our own events tell better: each canceled or failed activity.
    logging.getLogger("temporalio").setLevel(logging.ERROR)
    for name in ("alembic", "uvicorn"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # They tell of each request, with its address; what matters of it, and no secret, is in our own events. `client` is
    # what the MCP SDK calls the logger of its sessions.
    for name in ("httpcore2", "httpx2", "mcp", "client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    _forward_core_logs()


def _forward_core_logs() -> None:
    """The SDK's core would write its warnings to the standard output, in colour: into what others parse."""
    forwarding = LogForwardingConfig(logger=logging.getLogger("temporal"))
    logs = LoggingConfig(filter=TelemetryFilter(core_level="WARN", other_level="ERROR"), forwarding=forwarding)
    Runtime.set_default(Runtime(telemetry=TelemetryConfig(logging=logs)), error_if_already_set=False)
