"""Turnwise beside a bare Temporal workflow, on one server."""
