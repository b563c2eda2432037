"""How many attacks a test makes: a few in every run, as many times more as `CUTECC_ATTACKS` says."""

import os


def attacks(few: int) -> int:
    """`few`, times the number in the environment variable `CUTECC_ATTACKS`."""
    return few * int(os.environ.get("CUTECC_ATTACKS", "1"))
