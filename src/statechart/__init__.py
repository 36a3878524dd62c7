"""The life of a run, as a pure statechart."""

from turnwise.statechart.chart import (
    TERMINAL,
    TRANSITIONS,
    Event,
    Facts,
    Guard,
    IllegalTransition,
    State,
    Transition,
    step,
)

__all__ = ["TERMINAL", "TRANSITIONS", "Event", "Facts", "Guard", "IllegalTransition", "State", "Transition", "step"]
