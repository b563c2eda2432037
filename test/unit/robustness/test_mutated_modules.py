"""Mutants of real modules: each is rewritten and lowered, or refused with an error, whatever the bindings make of it.

`HYPOTHESIS_PROFILE=long` looks at forty times as many, each time at others.
"""

from __future__ import annotations

import os
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from limited_runs import LIMIT
from mlir_mutation import MutableModule
from real_inputs import RealInputs, make_inputs

from cutecc.errors import Error, InternalError
from cutecc.opt.request import RewriteRequest, Told
from cutecc.opt.worker import rewrite_in_worker
from cutecc.support import isolation

pytestmark = pytest.mark.slow

_LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
_SETTINGS = settings(
    max_examples=1000 if _LONG else 25,
    derandomize=not _LONG,
    deadline=None,
    database=None,
    # What mutants are made of, and the processes that read them, are there for all examples.
    suppress_health_check=[*HealthCheck],
)
STAGES = {
    "traced": "nvidia",
    "cute-fold-static": "nvidia",
    "convert-cute-to-core": "nvidia",
    "open": "open",
}
"""By the stage that mutants are of, what is run on them."""


@pytest.fixture(scope="session")
def real(shared_folder: Path, cutecc_in) -> RealInputs:
    return make_inputs(shared_folder, cutecc_in)


@pytest.mark.parametrize("stage", STAGES)
def test_a_mutant_is_rewritten_or_refused(
    stage: str, real: RealInputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # For the reproducers of aborts.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    module = MutableModule(real.stage("traced" if stage == "open" else stage))

    @_SETTINGS
    @given(module.mutants(most=3))
    def check(text: str) -> None:
        outcome = rewritten(text, STAGES[stage])
        assert not isinstance(outcome, InternalError), outcome
        if isinstance(outcome, Error):
            assert outcome.message
            assert "Traceback" not in str(outcome) or "aborted" in outcome.message

    check()


def rewritten(text: str, pipeline: str) -> Error | None:
    """Have a worker rewrite a module; the error that it comes to, if it does. Fails after `LIMIT` seconds."""
    told: list[Told] = []
    timer = threading.Timer(LIMIT, isolation.interrupt)
    timer.start()
    try:
        rewrite_in_worker(RewriteRequest(text.encode(), "mutant.mlir", "sm_80", pipeline), told.append)
    except Error as error:
        return error
    except KeyboardInterrupt:
        raise AssertionError(f"{pipeline} takes more than {LIMIT} s for\n{text}") from None
    finally:
        timer.cancel()
    return None
