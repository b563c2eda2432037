"""lit configuration: FileCheck tests that mirror the source tree."""

import os
import sys

import lit.formats

config.name = "cutecc"  # noqa: F821 - lit provides `config`
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir", ".py", ".test"]  # noqa: F821
config.excludes = ["Inputs", "lit.cfg.py"]  # noqa: F821
config.test_source_root = os.path.dirname(__file__)  # noqa: F821
config.test_exec_root = os.path.join(os.path.dirname(__file__), "Output")  # noqa: F821

# The tools of the environment that lit itself runs in.
config.environment["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])  # noqa: F821
config.environment["NO_COLOR"] = "1"  # noqa: F821
for name in ("CUTECC_TARGET", "CUTECC_PTXAS", "CUTECC_LOAD", "CUTECC_DEBUG"):
    config.environment.pop(name, None)  # noqa: F821
config.substitutions.append(("%examples", os.path.join(config.test_source_root, "..", "..", "examples")))  # noqa: F821
config.substitutions.append(("%kernels", os.path.join(config.test_source_root, "..", "kernels")))  # noqa: F821
