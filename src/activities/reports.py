"""What turns came to, kept until their workflows have taken it in.

Should a report be lost, Temporal asks for the turn again; it is never executed a second time.
"""

import asyncio
import contextvars

import structlog

from turnwise.errors import Unavailable
from turnwise.store import Store
from turnwise.store.records import TurnResult

LOOK_SEC = 60.0

TurnKey = tuple[str, int]

log = structlog.get_logger()


class Reports:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: dict[TurnKey, str] = {}
        """As JSON, which is small."""
        self._looking = False

    def keep(self, key: TurnKey, result: TurnResult) -> None:
        self._kept[key] = result.model_dump_json()
        self._look_later()

    def find(self, key: TurnKey) -> TurnResult | None:
        kept = self._kept.get(key)
        return TurnResult.model_validate_json(kept) if kept is not None else None

    def _look_later(self) -> None:
        if not self._looking:
            self._looking = True
            # In a context of its own: the activity's would be kept alive by it, with all that hangs on it.
            asyncio.get_running_loop().call_later(LOOK_SEC, self._look, context=contextvars.Context())

    def _look(self) -> None:
        if not self._store.is_closed:  # else the worker has stopped, and with it whoever could be asked again
            self._task = asyncio.ensure_future(self._forget_closed())

    async def _forget_closed(self) -> None:
        """Once a turn is closed in the store, nobody asks for it again, or is told that it is too late."""
        try:
            for key in await self._store.closed_turns(list(self._kept)):
                self._kept.pop(key, None)
        except Unavailable as error:
            log.warning("turn.reports_kept", reason=error.message)
        self._looking = False
        if self._kept:
            self._look_later()
