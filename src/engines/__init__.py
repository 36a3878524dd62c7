"""Engines: what executes a turn."""

from turnwise.engines.protocol import TurnEngine
from turnwise.engines.registry import Engines, default_engines

__all__ = ["Engines", "TurnEngine", "default_engines"]
