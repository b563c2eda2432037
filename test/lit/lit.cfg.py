"""lit configuration: FileCheck tests that mirror the source tree.

Their hundred commands begin with their imports done, as those of `test/unit` do; not with `COLD_START=1`.
Tests that say `REQUIRES: slow` are run with `-D slow=too`, and they alone with `-D slow=only`.
"""

import atexit
import os
import sys
import tempfile
from pathlib import Path

from cutecc.lit import configure

configure(config, "cutecc")
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(os.path.dirname(__file__), "Output")
config.substitutions.append(("%examples", os.path.join(config.test_source_root, "..", "..", "examples")))
config.substitutions.append(("%kernels", os.path.join(config.test_source_root, "..", "kernels")))

if slow := lit_config.params.get("slow"):
    config.available_features.add("slow")
    if slow == "only":
        config.limit_to_features.add("slow")

if "COLD_START" not in os.environ:
    sys.path.append(os.path.join(config.test_source_root, "..", "unit"))
    from warm_processes import Templates

    listings = tempfile.TemporaryDirectory(prefix="cutecc-listings-")
    templates = Templates(config.environment, Path(listings.name))
    atexit.register(listings.cleanup)
    atexit.register(templates.close)
    commands = str(templates.folder_of_commands())
    config.environment["PATH"] = os.pathsep.join((commands, config.environment["PATH"]))
