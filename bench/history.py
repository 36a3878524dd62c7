"""What a run leaves in Temporal's history."""

from bench.measures import Measure
from bench.sides import Side, whole_run


async def measure_history(bare: Side, turnwise: Side) -> list[Measure]:
    bare_events, bare_bytes = await _history(bare)
    turnwise_events, turnwise_bytes = await _history(turnwise)
    return [
        Measure("history events per run", "", turnwise_events, bare_events),
        Measure("history size per run", "kB", turnwise_bytes / 1000, bare_bytes / 1000),
    ]


async def _history(side: Side) -> tuple[int, int]:
    handle = side.temporal.get_workflow_handle(await whole_run(side))
    await handle.result()
    history = await handle.fetch_history()
    return len(history.events), sum(event.ByteSize() for event in history.events)
