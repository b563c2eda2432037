"""Write the JSON Schemas that docs/ publishes, of manifests and of `cutecc versions --json`, from the data classes.

python tools/update_schema.py            # write them
python tools/update_schema.py --check    # only say, by the exit status, whether they are up to date
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from cutecc.record import manifest
from cutecc.versions import conditions

DOCS = Path(__file__).parents[1] / "docs"
SCHEMAS = {
    DOCS / "manifest.schema.json": manifest.json_schema,
    DOCS / "versions.schema.json": conditions.json_schema,
}


def main() -> int:
    texts = {file: json.dumps(schema(), indent=2) + "\n" for file, schema in SCHEMAS.items()}
    if "--check" in sys.argv[1:]:
        return 0 if all(file.exists() and file.read_text() == text for file, text in texts.items()) else 1
    for file, text in texts.items():
        file.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
