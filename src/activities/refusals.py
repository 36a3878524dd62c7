"""How a named error crosses Temporal: the code becomes the failure's type, the details come along."""

from typing import Any

from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from turnwise.errors import TurnOwned, TurnwiseError, Unavailable

WORTH_REPEATING = (Unavailable, TurnOwned)
"""What is in the way passes, or another worker is the one to ask."""


def refusal(error: TurnwiseError) -> ApplicationError:
    """For good: nobody tries again."""
    return ApplicationError(error.message, error.details, type=error.code, non_retryable=True)


class Refusals(Interceptor):
    """Every named error of an activity is for good, but for those that are worth repeating."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _Refusing(next)


class _Refusing(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        try:
            return await self.next.execute_activity(input)
        except WORTH_REPEATING:
            raise
        except TurnwiseError as error:
            raise refusal(error) from error
