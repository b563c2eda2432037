"""What lit needs to test passes.

The whole `lit.cfg.py` of a package with passes is

    from cutecc.lit import configure

    configure(config, "my-passes")

Tests are then files with RUN lines, such as `// RUN: %cutecc opt %s --pipeline=my-pass | filecheck %s`.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import Any


def configure(config: Any, name: str) -> None:
    """Set up a lit test suite called `name`; `config` is what lit gives to `lit.cfg.py`.

    Tests are `.mlir`, `.py` and `.test` files outside of folders called `Inputs`. In RUN lines, `%cutecc` is the
    command line of the Python that runs lit, with the plugins installed there; `cutecc` and `filecheck` are found too.
    Output has no colours, settings (`CUTECC_*`) do not reach the tests, and the cache is off.
    """
    from lit import formats  # pyright: ignore

    config.name = name
    config.test_format = formats.ShTest(execute_external=False)  # pyright: ignore
    config.suffixes = [".mlir", ".py", ".test"]
    config.excludes = ["Inputs", "lit.cfg.py"]
    # Without -P, Python files that tests write would shadow others.
    config.substitutions.append(("%cutecc", f"{shlex.quote(sys.executable)} -P -m cutecc"))
    config.environment["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), config.environment["PATH"]])
    config.environment["NO_COLOR"] = "1"
    config.environment["CUTECC_CACHE"] = "0"
    # lit itself passes few variables on, and not this one.
    if "PYTHONPATH" in os.environ:
        config.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
