"""How a named error crosses Temporal."""

from temporalio.exceptions import ApplicationError

from turnwise.errors import TurnwiseError


def refusal(error: TurnwiseError) -> ApplicationError:
    """The code becomes the failure's type, the details come along, and nobody tries again."""
    return ApplicationError(error.message, error.details, type=error.code, non_retryable=True)
