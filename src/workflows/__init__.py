"""Workflows: the durable side of runs."""

from turnwise.workflows.recovery import RecoveryWorkflow
from turnwise.workflows.run import RunWorkflow

__all__ = ["RecoveryWorkflow", "RunWorkflow"]
