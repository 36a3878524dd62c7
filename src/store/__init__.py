"""The durable side of a run: event log, projections, audit trail."""

from turnwise.store.store import Store

__all__ = ["Store"]
