"""Write docs/manifest.schema.json, the published JSON Schema of the manifest, from the record's data classes.

python tools/update_schema.py            # write it
python tools/update_schema.py --check    # only say, by the exit status, whether it is up to date
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from cutecc.record.manifest import json_schema

FILE = Path(__file__).parents[1] / "docs" / "manifest.schema.json"


def main() -> int:
    text = json.dumps(json_schema(), indent=2) + "\n"
    if "--check" in sys.argv[1:]:
        return 0 if FILE.exists() and FILE.read_text() == text else 1
    FILE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
