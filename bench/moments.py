"""Tells the process that holds the worker when a run has asked its question.

The bare workflow has nothing that shows its question: a query, a second Update or a signal to the client would each
add work that a bare workflow need not do. So it calls through the sandbox, at no cost, at the very moment when it has
taken the turn's result and is about to wait: no bare client could learn it sooner.
"""

from collections.abc import Callable

Listener = Callable[[str], None]

_listeners: list[Listener] = []


def listen(listener: Listener) -> None:
    """`listener` gets the id of every run that asks; it is called on whatever thread the run is on."""
    _listeners.append(listener)


def asked(run_id: str) -> None:
    for listener in _listeners:
        listener(run_id)
