"""The results: as a table for people, as JSON for machines."""

import sys
from pathlib import Path

import orjson
from rich.console import Console
from rich.table import Table

from bench.measures import Measure

WIDTH = 110
"""Where there is no terminal to ask."""


def print_table(title: str, baseline: str, measures: list[Measure]) -> None:
    table = Table(title=title)
    table.add_column("measure")
    for column in (baseline, "Turnwise", "ratio", "target"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("reached")
    for measure in measures:
        table.add_row(
            measure.name,
            _value(measure.bare, measure.unit),
            _value(measure.turnwise, measure.unit),
            "" if measure.ratio is None else f"{measure.ratio:.2f}",
            "" if measure.target is None else str(measure.target),
            {None: "", True: "[green]yes[/]", False: "[bold red]no[/]"}[measure.reached],
        )
    _console().print(table)


def print_verdict(measures: list[Measure], seconds: float) -> None:
    missed = [measure.name for measure in measures if measure.reached is False]
    verdict = f"[bold red]Not reached:[/] {'; '.join(missed)}." if missed else "[green]All targets reached.[/]"
    _console().print(verdict, f"({seconds:.0f} s)", highlight=False)


def _console() -> Console:
    return Console() if sys.stdout.isatty() else Console(width=WIDTH)


def save_json(measures: list[Measure], path: Path) -> None:
    rows = [
        {
            "measure": measure.name,
            "unit": measure.unit,
            "bare": measure.bare,
            "turnwise": measure.turnwise,
            "ratio": measure.ratio,
            "target": str(measure.target) if measure.target else None,
            "reached": measure.reached,
        }
        for measure in measures
    ]
    path.write_bytes(orjson.dumps(rows, option=orjson.OPT_INDENT_2))


def _value(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    number = f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"
    return f"{number} {unit}".strip()
