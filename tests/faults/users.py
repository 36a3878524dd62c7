"""A user of one run: starts it, watches it, answers and cancels by HTTP, and tries again as the API tells them to."""

import asyncio
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx
from temporalio.client import Client
from temporalio.service import RPCError

from tests.faults.watchers import Watcher
from turnwise.fcmp.events import EventType, FcmpEvent
from turnwise.fcmp.jsonvalue import JsonObject

TRY_AGAIN_SEC = 0.2
NO_ANSWER = 503


@dataclass(slots=True)
class Spoken:
    """What came of this user's replies."""

    sent: int = 0
    receipts: list[str] = field(default_factory=list)
    """Reply ids that were told to be accepted; one that was repeated is there several times."""
    losers: dict[str, str] = field(default_factory=dict)
    """Reply ids that came too late, with the winner that they were told."""
    signals: list[str] = field(default_factory=list)


class Caller:
    """Of the API: tries again as long as it is told to."""

    def __init__(self, http: httpx.AsyncClient, name: str, random: Random) -> None:
        self._http = http
        self.name = name
        self.random = random
        self.complaints: list[str] = []

    async def send(self, path: str, body: JsonObject, headers: dict[str, str] | None = None) -> httpx.Response:
        """Until the API answers with something else than "try again"."""
        while True:
            try:
                answer = await self._http.post(path, json=body, headers=headers)
            except httpx.TransportError:
                await asyncio.sleep(TRY_AGAIN_SEC)
                continue
            if answer.status_code != NO_ANSWER:
                return answer
            await asyncio.sleep(TRY_AGAIN_SEC)


class User(Caller):
    def __init__(
        self, http: httpx.AsyncClient, temporal: Client, name: str, random: Random, calm: asyncio.Event
    ) -> None:
        super().__init__(http, name, random)
        self._temporal = temporal
        self.calm = calm
        """Set when the trouble is over."""
        self.run_id = ""
        self.watcher: Watcher | None = None
        self.spoken = Spoken()

    async def start(self, *turns: list[JsonObject], **settings: Any) -> None:
        body = {"prompt": self.name, "engine_options": {"turns": turns}, **settings}
        answer = await self.send("/v1/runs", body, {"Idempotency-Key": self.name})
        if answer.status_code != 201:
            self.complaints.append(f"the start was refused: {answer.text}")
            raise AssertionError(answer.text)
        self.run_id = answer.json()["run_id"]
        self.watcher = Watcher(self._http, f"/v1/runs/{self.run_id}/events", self.random)
        self._watching = asyncio.create_task(self.watcher.follow())

    async def until(self, kind: EventType, **data: object) -> FcmpEvent:
        assert self.watcher is not None
        return await self.watcher.until(
            lambda event: event.type is kind and all(event.data[name] == value for name, value in data.items())
        )

    async def until_over(self) -> None:
        await self._watching

    async def reply(self, interaction_id: int, reply_id: str) -> None:
        """Answers, and keeps on asking until it is known what came of the answer."""
        self.spoken.sent += 1
        body: JsonObject = {"interaction_id": interaction_id, "response": reply_id, "reply_id": reply_id}
        answer = await self.send(f"/v1/runs/{self.run_id}/interaction/reply", body)
        if answer.status_code == 200:
            self.spoken.receipts.append(answer.json()["reply_id"])
        elif answer.json()["code"] == "INTERACTION_ALREADY_ANSWERED":
            self.spoken.losers[reply_id] = answer.json()["receipt"].get("reply_id", "")
        else:
            self.complaints.append(f"a reply was refused: {answer.text}")

    async def reply_by_signal(self, interaction_id: int, reply_id: str) -> None:
        self.spoken.sent += 1
        reply = {"interaction_id": interaction_id, "response": reply_id, "reply_id": reply_id}
        while True:
            try:
                await self._temporal.get_workflow_handle(self.run_id).signal("reply", reply)
            except RPCError:
                await asyncio.sleep(TRY_AGAIN_SEC)
            else:
                self.spoken.signals.append(reply_id)
                return

    async def cancel(self) -> None:
        answer = await self.send(f"/v1/runs/{self.run_id}/cancel", {})
        if answer.status_code != 202 and answer.json()["code"] != "RUN_ENDED":
            self.complaints.append(f"a cancel was refused: {answer.text}")
