"""The side of a run that touches the world: engines and the store."""

from turnwise.activities.publishing import Publishing
from turnwise.activities.turns import TurnRef, Turns

__all__ = ["Publishing", "TurnRef", "Turns"]
