"""The side of a run that touches the world: engines and the store."""

from turnwise.activities.presence import Presence
from turnwise.activities.publishing import Publishing
from turnwise.activities.sessions import Sessions
from turnwise.activities.slots import Slots
from turnwise.activities.sweep import Sweep
from turnwise.activities.turns import TurnRef, Turns

__all__ = ["Presence", "Publishing", "Sessions", "Slots", "Sweep", "TurnRef", "Turns"]
