"""What was measured, and whether it is good enough."""

from dataclasses import dataclass
from enum import StrEnum


class Bound(StrEnum):
    RATIO_AT_MOST = "ratio_at_most"
    RATIO_AT_LEAST = "ratio_at_least"
    VALUE_BELOW = "value_below"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Target:
    bound: Bound
    limit: float = 0.0

    def __str__(self) -> str:
        match self.bound:
            case Bound.RATIO_AT_MOST:
                return f"ratio ≤ {self.limit:g}"
            case Bound.RATIO_AT_LEAST:
                return f"ratio ≥ {self.limit:g}"
            case Bound.VALUE_BELOW:
                return f"< {self.limit:g}"
            case Bound.NONE:
                return "none"


@dataclass(frozen=True, slots=True)
class Measure:
    name: str
    unit: str
    turnwise: float
    bare: float | None = None
    target: Target | None = None

    @property
    def ratio(self) -> float | None:
        return self.turnwise / self.bare if self.bare else None

    @property
    def reached(self) -> bool | None:
        """None where there is nothing to reach."""
        if self.target is None:
            return None
        match self.target.bound:
            case Bound.RATIO_AT_MOST:
                return self.ratio is not None and self.ratio <= self.target.limit
            case Bound.RATIO_AT_LEAST:
                return self.ratio is not None and self.ratio >= self.target.limit
            case Bound.VALUE_BELOW:
                return self.turnwise < self.target.limit
            case Bound.NONE:
                return self.turnwise == 0


LATENCY = Target(Bound.RATIO_AT_MOST, 1.3)
THROUGHPUT = Target(Bound.RATIO_AT_LEAST, 0.75)
MEMORY = Target(Bound.RATIO_AT_MOST, 1.3)
NONE_FAILED = Target(Bound.NONE)
STREAM = Target(Bound.VALUE_BELOW, 5.0)
STATUS = Target(Bound.VALUE_BELOW, 100.0)


def percentile(values: list[float], percent: float) -> float:
    """The smallest value that at least `percent` of them do not exceed."""
    ordered = sorted(values)
    rank = max(1, -(-len(ordered) * percent // 100))
    return ordered[int(rank) - 1]
