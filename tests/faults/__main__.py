"""`make faults`: strikes for a while, says what happened, and fails if anything was lost."""

import argparse
import asyncio
import os
import secrets
import sys
import tempfile
from pathlib import Path

from tests.faults.stage import DatabaseKind
from tests.faults.suite import Plan, play
from turnwise.runtime.logs import configure_logs


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="the same seed, the same sequence")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long there is trouble")
    parser.add_argument("--database", type=DatabaseKind, default=None, help="sqlite or postgresql; both when not given")
    options = parser.parse_args()
    for name in [name for name in os.environ if name.startswith(("TEMPORAL_", "TURNWISE_"))]:
        del os.environ[name]
    configure_logs("error")
    kinds = [options.database] if options.database else list(DatabaseKind)
    return max([_round(Plan(options.seed, options.seconds, kind)) for kind in kinds])


def _round(plan: Plan) -> int:
    print(f"{plan.seconds:g} s of trouble on {plan.database.value}, seed {plan.seed} …", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="turnwise-faults-"))
    folder.chmod(0o755)  # for the user that PostgreSQL runs as
    report = asyncio.run(play(plan, folder))
    print(report)
    if report.lost:
        print(f"The logs of the processes are in {folder}.")
    return 1 if report.lost else 0


if __name__ == "__main__":
    sys.exit(main())
