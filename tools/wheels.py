"""Build the two distributions: `python tools/wheels.py dist`; what is in which stands in pyproject.toml.

`cutecc-runtime` launches what is compiled, and `cutecc` has the rest and depends on the same version of it. Both
install into the package `cutecc`, no file in both. The same tree and hatchling give the same bytes; `SOURCE_DATE_EPOCH`
is the time of all entries, as it is elsewhere.
"""

from __future__ import annotations

import argparse
import copy
import re
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.wheel import WheelBuilder
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

ROOT = Path(__file__).parents[1]
PACKAGE = "cutecc"
RUNTIME = "cutecc-runtime"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Build the wheels of cutecc-runtime and cutecc.")
    parser.add_argument("folder", type=Path, help="where to put them")
    for wheel in build(parser.parse_args().folder):
        print(f"{wheel}: {wheel.stat().st_size:,} bytes, {installed_bytes(wheel):,} installed")


def build(folder: Path, root: Path = ROOT) -> list[Path]:
    """Both wheels of the tree at `root`, written into `folder`, that of `cutecc-runtime` first."""
    project = read_project(root)
    version = _metadata(root, project).version
    return [_wheel(root, config, folder) for config in (runtime_config(project), full_config(project, version))]


def read_project(root: Path = ROOT) -> dict[str, Any]:
    """What pyproject.toml says."""
    return tomllib.loads((root / "pyproject.toml").read_text())


def runtime_paths(project: dict[str, Any]) -> list[str]:
    """The files and folders of `cutecc-runtime`, from the tree's root."""
    return [f"{PACKAGE}/{path}" for path in project["tool"][RUNTIME]["paths"]]


def runtime_config(project: dict[str, Any]) -> dict[str, Any]:
    """The project as it would be if the tree were that of `cutecc-runtime` alone."""
    config, table = copy.deepcopy(project), project["tool"][RUNTIME]
    versions = {re.split(r"[^\w-]", each, maxsplit=1)[0]: each for each in project["project"]["dependencies"]}
    config["project"] |= {
        "name": RUNTIME,
        "description": table["description"],
        "dependencies": [versions[name] for name in table["dependencies"]],
        "optional-dependencies": {
            extra: [versions[name] for name in names] for extra, names in table["extras"].items()
        },
    }
    del config["project"]["entry-points"]
    config["tool"]["hatch"]["build"]["targets"]["wheel"] = {"only-include": runtime_paths(project)}
    return config


def full_config(project: dict[str, Any], version: str) -> dict[str, Any]:
    """The project without what `cutecc-runtime` has, the command among it."""
    config = copy.deepcopy(project)
    config["project"]["dependencies"].insert(0, f"{RUNTIME}=={version}")
    del config["project"]["scripts"]
    config["tool"]["hatch"]["build"]["targets"]["wheel"] = {
        "only-include": [PACKAGE],
        "exclude": [f"/{path}" for path in runtime_paths(project)],
    }
    return config


def installed_bytes(wheel: Path) -> int:
    """What a wheel's files take where it is installed, before Python compiles any."""
    with zipfile.ZipFile(wheel) as archive:
        return sum(entry.file_size for entry in archive.infolist())


def _wheel(root: Path, config: dict[str, Any], folder: Path) -> Path:
    builder = WheelBuilder(str(root), config=config, metadata=_metadata(root, config))
    (path,) = builder.build(directory=str(folder), versions=["standard"])
    return Path(path)


def _metadata(root: Path, config: dict[str, Any]) -> ProjectMetadata[Any]:
    return ProjectMetadata(str(root), PluginManager(), config)


if __name__ == "__main__":
    main()
