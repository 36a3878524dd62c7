"""Ports for the servers that tests start."""

import contextlib
import fcntl
import os
import socket
import tempfile
from pathlib import Path

# Below the range that the system gives to outgoing connections: one of those could take a port between our look
# at it and the server's.
FIRST, LAST = 11_000, 32_000

_candidates = iter(range(FIRST, LAST))
_reserved: list[int] = []
"""Open files, whose locks keep others from the ports for as long as this process lives."""


def free_port() -> int:
    """A port that no other call gets, in this process or in another that runs tests at the same time."""
    folder = Path(tempfile.gettempdir()) / f"turnwise-test-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    for port in _candidates:
        reservation = os.open(folder / str(port), os.O_CREAT | os.O_RDWR, 0o666)
        with contextlib.suppress(OSError), socket.socket() as probe:
            fcntl.flock(reservation, fcntl.LOCK_EX | fcntl.LOCK_NB)
            probe.bind(("127.0.0.1", port))
            _reserved.append(reservation)
            return port
        os.close(reservation)
    raise RuntimeError(f"No port between {FIRST} and {LAST} is free.")
