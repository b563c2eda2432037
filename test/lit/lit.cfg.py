"""lit configuration: FileCheck tests that mirror the source tree."""

import os

from cutecc.lit import configure

configure(config, "cutecc")
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(os.path.dirname(__file__), "Output")
config.substitutions.append(("%examples", os.path.join(config.test_source_root, "..", "..", "examples")))
config.substitutions.append(("%kernels", os.path.join(config.test_source_root, "..", "kernels")))
