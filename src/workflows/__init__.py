"""Workflows: the durable side of runs and sessions."""

from turnwise.workflows.recovery import RecoveryWorkflow
from turnwise.workflows.run import RunWorkflow
from turnwise.workflows.session import SessionWorkflow

__all__ = ["RecoveryWorkflow", "RunWorkflow", "SessionWorkflow"]
