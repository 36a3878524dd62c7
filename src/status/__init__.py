"""The truthful status: derived from facts, by a table and a clock, in one place."""

from turnwise.status.standing import Due, Patience, Standing
from turnwise.status.table import TRANSITIONS, Fact, Reason, Status, Transition, step
from turnwise.status.view import StatusView

__all__ = [
    "TRANSITIONS",
    "Due",
    "Fact",
    "Patience",
    "Reason",
    "Standing",
    "Status",
    "StatusView",
    "Transition",
    "step",
]
