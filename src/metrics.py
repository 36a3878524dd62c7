"""What a process that serves measures of itself: a log line and a count for each status, the rest for Prometheus."""

from collections.abc import Callable, Mapping

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector

from turnwise.statechart import State
from turnwise.store.observing import Deeds, StatusChange

CORE = "core"
"""The lane of the one writer of every status. Who renders it elsewhere counts that under a lane of its own."""
NONE = "none"
TURN_SECONDS = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)
RESUME_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)

log = structlog.get_logger()


class Metrics:
    """Each process has its own; nothing is computed for it before somebody asks."""

    media_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._status_changes = Counter(
            "turnwise_status_changes",
            "Changes of the status that people are shown.",
            ["from", "to", "reason", "lane"],
            registry=self.registry,
        )
        self._events = Counter("turnwise_events_written", "Events added to logs of runs.", registry=self.registry)
        self._turns = Histogram(
            "turnwise_turn_seconds", "How long turns took.", buckets=TURN_SECONDS, registry=self.registry
        )
        self._resumes = Histogram(
            "turnwise_reply_to_resume_seconds",
            "From the acceptance of a reply to the start of the turn that it resumed.",
            buckets=RESUME_SECONDS,
            registry=self.registry,
        )
        self._watchers = Gauge("turnwise_watchers", "Streams that are being followed here.", registry=self.registry)
        self._runs = Gauge("turnwise_runs", "Runs in the store, by state.", ["state"], registry=self.registry)

    # What the store and the turns tell

    def committed(self, deeds: Deeds) -> None:
        if deeds.events:
            self._events.inc(deeds.events)
        if deeds.resumed_after is not None:
            self._resumes.observe(deeds.resumed_after)
        for change in deeds.changes:
            self._status_changed(change)

    def turn_ended(self, seconds: float) -> None:
        self._turns.observe(seconds)

    def _status_changed(self, change: StatusChange) -> None:
        source = change.source.value if change.source else NONE
        labels = {"from": source, "to": change.target.value, "reason": change.reason.value, "lane": CORE}
        self._status_changes.labels(**labels).inc()
        log.info("status.changed", session_id=change.session_id, run_id=change.run_id, **labels)

    # What is read when somebody asks

    def count_watchers(self, count: Callable[[], int]) -> None:
        self._watchers.set_function(count)

    def show(self, runs: Mapping[State, int] | None) -> bytes:
        """In Prometheus's format. `runs` is None when the store cannot tell now."""
        self._runs.clear()
        for state in State if runs is not None else ():
            self._runs.labels(state.value).set((runs or {}).get(state, 0))
        return generate_latest(self.registry)
