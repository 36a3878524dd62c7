"""How a question came to its answer."""

from turnwise.fcmp.events import AutoDecided, Mode
from turnwise.fcmp.questions import Policy
from turnwise.wording.texts import shown


def decision(decided: AutoDecided, mode: Mode) -> str:
    """Without anybody's reply."""
    why = "Nobody is asked in auto mode" if mode is Mode.AUTO else "Nobody replied in time"
    if decided.policy is Policy.USE_DEFAULT:
        return f"{why}; the default is taken: {shown(decided.response)}"
    return f"{why}; the agent decides by itself."
