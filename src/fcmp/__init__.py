"""FCMP: the one ordered event stream of a run."""
