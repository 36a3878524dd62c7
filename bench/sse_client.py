"""A client of the event stream, in a process of its own: `python -m bench.sse_client`.

Reads the URL of a run's events from standard input; prints `connected` once the stream is open, and when it ends the
milliseconds that each event took, as a JSON list. An event's time of production is its `ts`, which the store takes
when it begins to write it: writing and committing are counted in. Both processes read the same clock.
"""

import json
import sys
import time
from datetime import datetime

import httpx

from bench.child import say


def main() -> None:
    with httpx.Client(timeout=None) as client:  # noqa: S113 - a stream has no length
        for url in sys.stdin:
            say(json.dumps(_follow(client, url.strip())))


def _follow(client: httpx.Client, url: str) -> list[float]:
    taken: list[float] = []
    event = ""
    with client.stream("GET", url) as response:
        response.raise_for_status()
        for line in response.iter_lines():
            if line.startswith("event: "):
                event = line.removeprefix("event: ")
                if event == "snapshot":
                    connected = time.time()
                    say("connected")
            elif line.startswith("data: ") and event == "chat_event":
                arrived = time.time()
                produced = datetime.fromisoformat(json.loads(line.removeprefix("data: "))["ts"]).timestamp()
                if produced > connected:
                    taken.append((arrived - produced) * 1000)
    return taken


if __name__ == "__main__":
    main()
