"""The Python client: what a service imports to start runs and sessions, watch them, reply and cancel.

It works on Temporal and the store directly; the HTTP API is a thin layer over it.
"""

from turnwise.client.run import Run
from turnwise.client.session import AgentSession
from turnwise.client.turnwise import Turnwise, connect
from turnwise.errors import (
    InvalidForkEntryIndex,
    PromptAlreadyRunning,
    PromptCanceled,
    PromptFailed,
    SessionBusy,
    SessionClosed,
)

__all__ = [
    "AgentSession",
    "InvalidForkEntryIndex",
    "PromptAlreadyRunning",
    "PromptCanceled",
    "PromptFailed",
    "Run",
    "SessionBusy",
    "SessionClosed",
    "Turnwise",
    "connect",
]
