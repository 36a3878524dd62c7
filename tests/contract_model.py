"""The contract as a machine of its own: built from statechart.yaml alone, knowing nothing of the implementation."""

from collections.abc import Mapping
from typing import Any

import yaml

from turnwise import contracts

CONTRACT: Mapping[str, Any] = yaml.safe_load(contracts.read("statechart.yaml"))


class Refused(Exception):
    """The contract has no such transition, or its guard does not hold."""


def contract_step(state: str, event: str, facts: Mapping[str, bool]) -> str:
    """Where the contract says that the event leads."""
    for transition in CONTRACT["transitions"]:
        if (transition["from"], transition["event"]) == (state, event):
            guard = CONTRACT["guards"].get(transition.get("guard"), {"all": []})
            if all(facts[condition["fact"]] == condition["equals"] for condition in guard["all"]):
                return str(transition["to"])
    raise Refused(f"{event} in {state}")
