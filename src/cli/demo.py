"""`turnwise demo`: one run asks, is answered and completes, on a Turnwise of its own that is gone afterwards."""

import asyncio
import contextlib
import os
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from turnwise.cli.consoles import console
from turnwise.cli.conversation import ended
from turnwise.cli.execution import ExitCode
from turnwise.cli.places import api_url
from turnwise.cli.timeline import Timeline
from turnwise.client import Run
from turnwise.fcmp.events import EventType
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.runtime.logs import configure_logs
from turnwise.runtime.ports import free_ports
from turnwise.runtime.whole import whole
from turnwise.settings import Settings
from turnwise.wording.times import seconds_between, span

THINKING_SEC = 1.0
TYPING_SEC = 0.12

PROMPT = "Plan a quiet Saturday in Lisbon"
REPLY = "museum"
SCRIPT: JsonObject = {
    "turns": [
        [
            {"say": "Let me look at the weather first, so that the plan is one you will enjoy."},
            {"tool": {"name": "weather", "arguments": {"city": "Lisbon"}, "result": {"sky": "rain until 15:00"}}},
            {
                "ask": {
                    "kind": "choose_one",
                    "prompt": "It rains in the morning. Where shall we start?",
                    "options": [
                        {"label": "In a museum", "value": "museum"},
                        {"label": "In a café", "value": "café"},
                    ],
                }
            },
        ],
        [{"final": "A {reply} in the morning, a walk along the river when the sun is back, and dinner in Alfama."}],
    ]
}


async def demo() -> ExitCode:
    configure_logs("warning")
    # Whatever server or profile the environment names, the demonstration starts its own.
    for name in [name for name in os.environ if name.startswith("TEMPORAL_")]:
        del os.environ[name]
    screen = console()
    with tempfile.TemporaryDirectory(prefix="turnwise-demo-") as folder:
        settings = _settings(Path(folder))
        async with contextlib.AsyncExitStack() as stack:
            with screen.status("Starting Temporal, a worker and the API …"):
                parts = await stack.enter_async_context(whole(settings))
            screen.print(Text(f"✓ Temporal, a worker and the API run; its address is {api_url(settings)}\n", "good"))
            run = await parts.turnwise.start(PROMPT, engine_options=SCRIPT)
            code = await _watch(run, screen)
            await _conclude(run, screen)
    return code


async def _watch(run: Run, screen: Console) -> ExitCode:
    timeline = Timeline(screen)
    try:
        async for frame in run.frames():
            event = timeline.show(frame)
            if event is None:
                continue
            if event.type is EventType.INPUT_REQUIRED:
                await _answer(run, screen)
            code = ended(event)
            if code is not None:
                return code
    finally:
        timeline.close()
    return ExitCode.FAILED


async def _answer(run: Run, screen: Console) -> None:
    """The pretend user: reads, then types."""
    await asyncio.sleep(THINKING_SEC)
    screen.print(Text("\n  you › ", style="ask"), end="")
    for letter in REPLY:
        screen.print(letter, end="", style="name")
        screen.file.flush()
        await asyncio.sleep(TYPING_SEC)
    screen.print("\n")
    await run.reply(1, REPLY)


async def _conclude(run: Run, screen: Console) -> None:
    view = await run.view()
    took = span(seconds_between(view.created_at, view.ended_at or view.updated_at))
    style = "good" if view.error is None else "bad"
    screen.print(Text(f"\nThe run {view.state.value}: {view.last_seq} events, {view.attempt} turns, {took}.", style))


def _settings(folder: Path) -> Settings:
    api_port, temporal_port, ui_port = free_ports(3)
    return Settings(
        data_dir=folder,
        api_host="127.0.0.1",
        api_port=api_port,
        temporal_port=temporal_port,
        temporal_ui_port=ui_port,
        temporal_ui_url=None,
        database_url=None,
        task_queue="turnwise-demo",
    )
