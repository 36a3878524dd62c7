"""Workflows: the durable side of runs."""

from turnwise.workflows.run import RunWorkflow

__all__ = ["RunWorkflow"]
