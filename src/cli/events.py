"""`turnwise events`: the log of a run, and what is added to it."""

import asyncio
import sys
from collections.abc import AsyncIterator
from enum import StrEnum

from turnwise.cli.consoles import console, write_line
from turnwise.cli.execution import ExitCode
from turnwise.cli.options import Output
from turnwise.cli.targets import Target
from turnwise.cli.timeline import Timeline
from turnwise.client import Run
from turnwise.store.records import StoredEvent
from turnwise.store.watching import Frame, Snapshot


class Until(StrEnum):
    RUN_ENDS = "run_ends"
    NOW = "now"


async def show_events(target: Target, run_id: str, cursor: int, until: Until, output: Output) -> ExitCode:
    async with target.connect() as turnwise:
        frames = _frames(turnwise.run(run_id), cursor, until)
        if output is Output.JSON:
            async for frame in frames:
                if isinstance(frame, StoredEvent):
                    write_line(frame.body)
            return ExitCode.OK
        timeline = Timeline(console())
        try:
            async for frame in frames:
                timeline.show(frame)
        except asyncio.CancelledError:
            timeline.close()
            sys.stderr.write("\nNo longer watching; the run goes on.\n")
            raise
        finally:
            timeline.close()
    return ExitCode.OK


async def _frames(run: Run, cursor: int, until: Until) -> AsyncIterator[Frame]:
    seen, last = cursor, None
    async for frame in run.frames(cursor):
        yield frame
        if isinstance(frame, Snapshot):
            last = frame.run.last_seq
        elif isinstance(frame, StoredEvent):
            seen = frame.seq
        if until is Until.NOW and last is not None and seen >= last:
            return
