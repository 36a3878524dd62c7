"""`turnwise events` and `turnwise sessions watch`: the log of a run or session, and what is added to it."""

import asyncio
import sys
from collections.abc import AsyncIterator
from enum import StrEnum

from turnwise.cli.consoles import console, write_line
from turnwise.cli.execution import ExitCode
from turnwise.cli.options import Output
from turnwise.cli.targets import Target
from turnwise.cli.timeline import Timeline
from turnwise.store.records import StoredEvent
from turnwise.store.watching import Frame, SessionSnapshot, Snapshot


class Until(StrEnum):
    END = "end"
    NOW = "now"


async def show_events(target: Target, run_id: str, cursor: int, until: Until, output: Output) -> ExitCode:
    async with target.connect() as turnwise:
        frames = _frames(turnwise.run(run_id).frames(cursor), cursor, until)
        return await _show(frames, "the run goes on", output)


async def watch_session(target: Target, session_id: str, cursor: int, until: Until, output: Output) -> ExitCode:
    async with target.connect() as turnwise:
        frames = _frames(turnwise.session(session_id).frames(cursor), cursor, until)
        return await _show(frames, "the session stays", output)


async def _show(frames: AsyncIterator[Frame], left: str, output: Output) -> ExitCode:
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
        sys.stderr.write(f"\nNo longer watching; {left}.\n")
        raise
    finally:
        timeline.close()
    return ExitCode.OK


async def _frames(frames: AsyncIterator[Frame], cursor: int, until: Until) -> AsyncIterator[Frame]:
    seen, last = cursor, None
    async for frame in frames:
        yield frame
        if isinstance(frame, Snapshot):
            last = frame.run.last_seq
        elif isinstance(frame, SessionSnapshot):
            last = frame.session.last_seq
        elif isinstance(frame, StoredEvent):
            seen = frame.seq
        if until is Until.NOW and last is not None and seen >= last:
            return
