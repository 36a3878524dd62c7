"""Processes: the embedded Temporal server, the worker, and `turnwise up`."""
