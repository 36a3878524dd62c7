"""The turns that a worker may run at the same time, and whether one more would start at once."""

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator

PROMISED_SEC = 1.0
"""How long a free slot is counted as taken by the turn that was said to start at once."""


class Slots:
    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._clock = clock
        self._taken = 0
        self._promised_until: deque[float] = deque()

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """By a turn, until the block ends."""
        if self._promised_until:
            self._promised_until.popleft()
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1

    def promise(self) -> bool:
        """Whether a turn that is scheduled now will find a slot, which is then not promised to another."""
        now = self._clock()
        while self._promised_until and self._promised_until[0] < now:
            self._promised_until.popleft()
        if self._taken + len(self._promised_until) >= self._limit:
            return False
        self._promised_until.append(now + PROMISED_SEC)
        return True
