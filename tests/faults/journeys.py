"""The kinds of runs in the load: what the agent does, what its user does, and how such a run may end."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.faults.users import User
from tests.world import ANSWER, ASK
from turnwise import errors
from turnwise.fcmp.events import EventType
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.statechart import State

Play = Callable[[User], Awaitable[None]]
End = tuple[State, str | None]

SUCCEEDED: End = (State.SUCCEEDED, None)
CANCELED: End = (State.CANCELED, errors.RUN_CANCELED)
INTERRUPTED: End = (State.FAILED, errors.ORCHESTRATOR_RESTART_INTERRUPTED)
"""Any run may end so: a worker died in the middle of its turn."""


@dataclass(frozen=True, slots=True)
class Journey:
    name: str
    play: Play
    ends: frozenset[End]


JOURNEYS: list[Journey] = []


def journey(*ends: End) -> Callable[[Play], Play]:
    def add(play: Play) -> Play:
        JOURNEYS.append(Journey(str(getattr(play, "__name__", "")), play, frozenset({*ends, INTERRUPTED})))
        return play

    return add


def say(words: str) -> JsonObject:
    return {"say": words}


async def think(user: User, longest: float = 1.5) -> None:
    await asyncio.sleep(user.random.uniform(0, longest))


@journey(SUCCEEDED)
async def answers(user: User) -> None:
    await user.start([say("A moment."), {"tool": {"name": "look"}}, {"final": "It is blue."}])


@journey(SUCCEEDED)
async def works_long(user: User) -> None:
    await user.start([say("This takes a while."), {"sleep": user.random.uniform(1, 5)}, {"final": "Done."}])


@journey(SUCCEEDED)
async def asks(user: User) -> None:
    await user.start([ASK], [ANSWER])
    await user.until(EventType.INPUT_REQUIRED)
    await think(user)
    await user.reply(1, "blue")


@journey(SUCCEEDED)
async def asks_three_times(user: User) -> None:
    await user.start([ASK], [say("{reply}, then."), ASK], [ASK], [ANSWER])
    for number in (1, 2, 3):
        await user.until(EventType.INPUT_REQUIRED, interaction_id=number)
        await user.reply(number, f"reply {number}")


@journey(SUCCEEDED)
async def is_answered_by_signal(user: User) -> None:
    await user.start([ASK], [ANSWER])
    await user.until(EventType.INPUT_REQUIRED)
    await user.reply_by_signal(1, "signaled")


@journey(SUCCEEDED)
async def is_answered_again_and_again(user: User) -> None:
    await user.start([ASK], [ANSWER])
    await user.until(EventType.INPUT_REQUIRED)
    await asyncio.gather(*(user.reply(1, "the same") for _ in range(3)))
    await think(user)
    await user.reply(1, "the same")


@journey(SUCCEEDED)
async def is_answered_by_many_at_once(user: User) -> None:
    await user.start([ASK], [ANSWER])
    await user.until(EventType.INPUT_REQUIRED)
    await asyncio.gather(*(user.reply(1, f"rival {number}") for number in range(4)))


@journey(SUCCEEDED)
async def decides_by_itself(user: User) -> None:
    await user.start(
        [ASK], [ANSWER], interactive_require_user_reply=False, session_timeout_sec=user.random.uniform(0.2, 3)
    )


@journey(SUCCEEDED)
async def decides_everything_at_once(user: User) -> None:
    await user.start([ASK], [ASK], [ANSWER], mode="auto")


@journey(SUCCEEDED)
async def outlasts_its_deadline(user: User) -> None:
    await user.start([ASK], [ANSWER], session_timeout_sec=user.random.uniform(0.2, 2))
    await user.until(EventType.WARNING, code=errors.SESSION_TIMEOUT_ELAPSED)
    await user.reply(1, "late")


@journey(SUCCEEDED)
async def waits_until_all_is_calm(user: User) -> None:
    await user.start([ASK], [ANSWER])
    await user.until(EventType.INPUT_REQUIRED)
    await user.calm.wait()
    await user.reply(1, "at last")


@journey(CANCELED)
async def is_canceled_while_it_waits(user: User) -> None:
    await user.start([ASK], [ANSWER])
    await user.until(EventType.INPUT_REQUIRED)
    await think(user)
    await user.cancel()


@journey(CANCELED, SUCCEEDED)
async def is_canceled_at_some_moment(user: User) -> None:
    await user.start([say("At work."), {"sleep": 2.0}, {"final": "Done."}])
    await think(user, longest=3)
    await user.cancel()


@journey((State.FAILED, errors.TURN_FAILED))
async def fails(user: User) -> None:
    await user.start([say("Hm."), {"fail": "no paint"}])


@journey((State.FAILED, errors.INTERACTIVE_MAX_ATTEMPT_EXCEEDED))
async def asks_too_often(user: User) -> None:
    await user.start([ASK], [ASK], [ANSWER], max_attempts=2)
    await user.until(EventType.INPUT_REQUIRED)
    await user.reply(1, "once")
