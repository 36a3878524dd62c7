"""The results as a picture: every measure beside bare, with the line that it is to keep to."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.measures import Measure

BARE = "#b8bec8"
COLOURS = {True: "#2a9d5c", False: "#d1495b", None: "#4f7cac"}
TARGET = "#1d1f24"


def save_plot(measures: list[Measure], path: Path) -> None:
    compared = [measure for measure in measures if measure.ratio is not None]
    alone = [measure for measure in measures if measure.bare is None]
    figure = Figure(figsize=(11, 0.62 * len(measures) + 2.2), layout="constrained")
    upper, lower = figure.subplots(2, 1, height_ratios=[len(compared), len(alone) + 0.6])
    _draw_compared(upper, compared)
    _draw_alone(lower, alone)
    figure.savefig(path, dpi=130)


def _draw_compared(axes: Axes, measures: list[Measure]) -> None:
    for row, measure in enumerate(measures):
        ratio = measure.ratio or 0.0
        axes.barh(row - 0.2, 1.0, 0.34, color=BARE)
        axes.barh(row + 0.2, ratio, 0.34, color=COLOURS[measure.reached])
        axes.text(1.01, row - 0.2, f"{measure.bare:.1f} {measure.unit}", va="center", fontsize=8, color="#5b6270")
        axes.text(
            ratio + 0.01, row + 0.2, f"{measure.turnwise:.1f} {measure.unit}  (× {ratio:.2f})", va="center", fontsize=8
        )
        if measure.target is not None:
            _target_line(axes, row, measure.target.limit)
    axes.set_title("Turnwise beside a bare Temporal workflow (grey, = 1); the dark line is the target", fontsize=11)
    axes.set_xlabel("times bare", fontsize=9)
    _finish(axes, measures)


def _draw_alone(axes: Axes, measures: list[Measure]) -> None:
    for row, measure in enumerate(measures):
        axes.barh(row, measure.turnwise, 0.5, color=COLOURS[measure.reached])
        axes.text(measure.turnwise + 0.05, row, f"{measure.turnwise:.1f} {measure.unit}", va="center", fontsize=8)
        if measure.target is not None:
            _target_line(axes, row, measure.target.limit)
    axes.set_xlabel(measures[0].unit, fontsize=9)
    _finish(axes, measures)


def _target_line(axes: Axes, row: int, limit: float) -> None:
    axes.plot([limit, limit], [row - 0.45, row + 0.45], color=TARGET, linewidth=2)


def _finish(axes: Axes, measures: list[Measure]) -> None:
    axes.set_yticks(range(len(measures)), [measure.name for measure in measures], fontsize=9)
    axes.invert_yaxis()
    axes.margins(x=0.2)
    axes.set_xlim(left=0)
    axes.spines[["top", "right"]].set_visible(False)
