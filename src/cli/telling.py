"""What happens in a run, told on a screen as a conversation."""

from rich.text import Text

from turnwise.cli import rendering
from turnwise.cli.asking import Asking
from turnwise.cli.screen import Screen
from turnwise.fcmp.events import (
    AutoDecided,
    DiagnosticWarning,
    EventData,
    MessageFinal,
    Mode,
    ReplyAccepted,
    ToolCall,
    ToolResult,
)
from turnwise.status import Status, StatusView
from turnwise.wording.statuses import status_sentence


def tell_status(status: StatusView, screen: Screen, asking: Asking) -> None:
    """Only what cannot be seen from the conversation itself: that nothing comes any more."""
    if status.status is Status.STALLED:
        screen.print(Text(f"  {status_sentence(status)}", style="warn"))
        asking.prompt()


def tell(data: EventData, mode: Mode, screen: Screen, asking: Asking) -> None:
    """All but questions and ends, which are for whoever follows the run to deal with."""
    match data:
        case MessageFinal() as message:
            screen.finish(message)
        case ReplyAccepted() as reply:
            if not asking.is_own(reply):
                asking.decided_elsewhere(rendering.answered_elsewhere(reply))
        case AutoDecided() as decided:
            asking.decided_elsewhere(rendering.decided(decided, mode))
        case ToolCall() as call:
            screen.print(rendering.tool_call(call))
        case ToolResult() as result:
            screen.print(rendering.tool_result(result))
        case DiagnosticWarning() as warning:
            screen.print(rendering.warning(warning))
            asking.prompt()
        case _:
            pass
