"""The turns that a worker may run at the same time, and whether one more would start at once."""

import contextlib
import time
from collections.abc import Callable, Iterator

PROMISED_SEC = 1.0
"""How long a free slot is counted as taken by the turn that was said to start at once."""


class Slots:
    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._clock = clock
        self._taken = 0
        self._promised_until: dict[str, float] = {}
        """By run, in the order of the promises."""

    @contextlib.contextmanager
    def taken(self, run_id: str) -> Iterator[None]:
        """By a turn of this run, until the block ends."""
        self._promised_until.pop(run_id, None)
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1

    def promise(self, run_id: str) -> bool:
        """Whether a turn that is scheduled now will find a slot, which is then not promised to another."""
        now = self._clock()
        self._promised_until = {run: until for run, until in self._promised_until.items() if until >= now}
        if self._taken + len(self._promised_until) >= self._limit:
            return False
        self._promised_until[run_id] = now + PROMISED_SEC
        return True
