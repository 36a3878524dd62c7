"""The engines that this process knows, by name."""

from collections.abc import Iterable

from turnwise.engines.protocol import TurnEngine
from turnwise.engines.scripted import ScriptedEngine
from turnwise.errors import EngineUnknown


class Engines:
    def __init__(self, engines: Iterable[TurnEngine]) -> None:
        self._engines = {engine.name: engine for engine in engines}

    def __getitem__(self, name: str) -> TurnEngine:
        engine = self._engines.get(name)
        if engine is None:
            known = ", ".join(sorted(self._engines))
            raise EngineUnknown(f"There is no engine '{name}'. Known here: {known}.")
        return engine


def default_engines() -> Engines:
    return Engines([ScriptedEngine()])
