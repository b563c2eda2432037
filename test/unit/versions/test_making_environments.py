"""Environments of versions of the wheel: made once, whole or not at all, by uv or pip; no package index is asked."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cutecc.config import Settings
from cutecc.errors import Error, UsageError
from cutecc.versions import environments
from cutecc.versions.environments import EnvironmentFailure, check_environment, make_environment, own_requirements

_WHOLE = "cutecc-environment.txt"
"""What an environment has when it is whole."""
_UV = """#!/bin/sh
echo "uv $*" >> "{log}"
if [ "$1" = venv ]; then for last; do :; done; mkdir -p "$last/bin"; echo made > "$last/bin/python"; exit; fi
{install}
"""
_PYTHON = """#!/bin/sh
echo "python $*" >> "{log}"
if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; exit; fi
{install}
"""
"""Of the first environment and of each that it makes."""


@dataclass
class Tools:
    """Programs that stand for uv, or for Python with venv and pip."""

    folder: Path
    settings: Settings

    def use(self, install: str = "", *, uv: bool = True) -> None:
        """Have installing do what the shell says."""
        for name, text in (("uv", _UV), ("python", _PYTHON)):
            program = self.folder / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(text.format(log=self.log, install=install))
            program.chmod(0o755)
        if not uv:
            (self.folder / "bin" / "uv").unlink()

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def said(self) -> list[str]:
        """What they were called with."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    def make(self, wheel: str = "4.7.1", packages: Sequence[str] = ()) -> Path:
        return make_environment(wheel, packages, self.settings)

    def fail(self, wheel: str = "4.7.1") -> EnvironmentFailure:
        with pytest.raises(EnvironmentFailure) as caught:
            self.make(wheel)
        return caught.value

    @property
    def environments(self) -> list[Path]:
        return sorted(each for each in (self.folder / "cache" / "environments").iterdir() if each.is_dir())


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    tools = Tools(tmp_path, Settings(cache_dir=tmp_path / "cache"))
    tools.use()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setattr(environments, "own_requirements", lambda: ["msgspec>=0.19"])
    monkeypatch.setattr(
        environments.shutil, "which", lambda name: str(uv) if (uv := tmp_path / "bin" / name).is_file() else None
    )
    return tools


# made once


def test_it_is_made_by_uv_and_kept(tools: Tools) -> None:
    told: list[str] = []
    python = make_environment("4.8.1[cu13]", ["quack-kernels==0.6.5"], tools.settings, told.append)
    (folder,) = tools.environments
    assert python == folder / "bin" / "python"
    assert folder.name.startswith("4.8.1-cu13-")
    assert told == [f"installing nvidia-cutlass-dsl 4.8.1[cu13] below {folder.parent}"]
    assert tools.said == [
        f"uv venv --quiet --python {sys.executable} {folder}",
        f"uv pip install --quiet --python {python} nvidia-cutlass-dsl[cu13]==4.8.1 msgspec>=0.19 quack-kernels==0.6.5",
    ]
    assert make_environment("4.8.1[cu13]", ["quack-kernels==0.6.5"], tools.settings, told.append) == python
    assert len(told) == 1
    assert len(tools.said) == 2


def test_without_uv_it_is_made_by_venv_and_pip(tools: Tools) -> None:
    tools.use(uv=False)
    python = tools.make()
    (folder,) = tools.environments
    assert tools.said == [
        f"python -m venv {folder}",
        "python -m pip install --quiet --disable-pip-version-check nvidia-cutlass-dsl==4.7.1 msgspec>=0.19",
    ]
    assert tools.make() == python
    assert len(tools.said) == 2


def test_other_versions_packages_and_requirements_have_their_own(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [tools.make("4.7.1"), tools.make("4.8.1"), tools.make("4.7.1", ["quack-kernels"])]
    monkeypatch.setattr(environments, "own_requirements", lambda: ["msgspec>=0.20"])
    made.append(tools.make("4.7.1"))
    monkeypatch.setattr(sys, "version", "another Python")
    made.append(tools.make("4.7.1"))
    assert len({*made}) == 5 == len(tools.environments)


def test_nothing_of_the_callers_python_is_in_it(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("PYTHONHOME", "/elsewhere")
    tools.use(f'echo "path: $PYTHONPATH $PYTHONHOME" >> "{tools.log}"')
    tools.make()
    assert tools.said[-1].split() == ["path:"]


def test_two_processes_that_want_the_same_wait_for_each_other(tools: Tools) -> None:
    tools.use("sleep 0.3")
    program = (
        "import sys; from pathlib import Path\n"
        "from cutecc.config import Settings; from cutecc.versions import environments\n"
        "environments.own_requirements = lambda: ['msgspec>=0.19']\n"
        "print(environments.make_environment('4.7.1', (), Settings(cache_dir=Path(sys.argv[1]))))"
    )
    interpreter = os.path.join(sys.prefix, "bin", "python")
    command = [interpreter, "-c", program, str(tools.folder / "cache")]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [each.communicate()[0].strip() for each in both]
    assert said[0] == said[1] == str(tools.environments[0] / "bin" / "python")
    assert [line.split()[1] for line in tools.said] == ["venv", "pip"]


# whole or not at all


def test_a_half_made_one_is_made_again(tools: Tools) -> None:
    python = tools.make()
    (folder,) = tools.environments
    (folder / _WHOLE).unlink()
    (folder / "left over").touch()
    assert tools.make() == python
    assert len(tools.said) == 4
    assert not (folder / "left over").exists()


def test_one_whose_python_has_gone_is_made_again(tools: Tools) -> None:
    python = tools.make()
    python.unlink()
    python.symlink_to("/no/longer/there")
    assert tools.make().read_text() == "made\n"
    assert len(tools.said) == 4


def test_one_that_fails_leaves_nothing_and_can_be_made_later(tools: Tools) -> None:
    tools.use("echo 'No space left on device'; exit 1")
    failure = tools.fail()
    assert failure.message == "nvidia-cutlass-dsl 4.7.1 cannot be installed"
    assert failure.notes == ["No space left on device"]
    assert failure.hints == ["an environment that exists can be named instead: --env '4.7.1=PATH/TO/bin/python'"]
    assert tools.environments == []
    tools.use()
    assert tools.make().is_file()


def test_one_that_is_interrupted_leaves_nothing(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    run = subprocess.run

    def interrupted(command: list[str], **settings: Any) -> Any:
        if command[1] == "pip":
            raise KeyboardInterrupt
        return run(command, **settings)

    monkeypatch.setattr(environments.subprocess, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tools.make()
    assert tools.environments == []


def test_what_a_tool_says_at_length_is_cut(tools: Tools) -> None:
    tools.use("seq 1 100 >&2; exit 1")
    assert tools.fail().notes == ["\n".join(map(str, range(89, 101)))]


def test_what_a_tool_says_in_no_encoding_is_shown(tools: Tools) -> None:
    tools.use("printf 'a\\377b'; exit 1")
    assert tools.fail().notes == ["a\N{REPLACEMENT CHARACTER}b"]


def test_a_tool_that_cannot_be_started(tools: Tools) -> None:
    (tools.folder / "bin" / "uv").write_text("#!/no/such/shell\n")
    assert tools.fail().message == f"{tools.folder / 'bin' / 'uv'} cannot be started: No such file or directory"
    assert tools.environments == []


# messages

_PIP_OFFLINE = """\
WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection.\
HTTPSConnection object>: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')'
ERROR: Could not find a version that satisfies the requirement nvidia-cutlass-dsl==4.7.1 (from versions: none)
ERROR: No matching distribution found for nvidia-cutlass-dsl==4.7.1"""
_UV_OFFLINE = """\
error: Request failed after 3 retries
  Caused by: Failed to fetch: `https://pypi.org/simple/nvidia-cutlass-dsl/`
  Caused by: error sending request for url (https://pypi.org/simple/nvidia-cutlass-dsl/)"""
_PIP_UNKNOWN = """\
ERROR: Could not find a version that satisfies the requirement nvidia-cutlass-dsl==4.7.1 (from versions: 4.6.0, 4.8.1)
ERROR: No matching distribution found for nvidia-cutlass-dsl==4.7.1"""
_PIP_NONE = _PIP_OFFLINE.partition("\n")[2]
_UV_UNKNOWN = """\
  x No solution found when resolving dependencies:
  `-> Because there is no version of nvidia-cutlass-dsl==4.7.1 and you require nvidia-cutlass-dsl==4.7.1, we can
      conclude that your requirements are unsatisfiable."""
_PIP_CONFLICT = """\
ERROR: Cannot install nvidia-cutlass-dsl==4.7.1 and quack-kernels==0.6.5 because these package versions have conflicting
dependencies.
ERROR: ResolutionImpossible: for help visit https://pip.pypa.io/"""
_UV_CONFLICT = """\
  x No solution found when resolving dependencies:
  `-> Because quack-kernels==0.6.5 depends on nvidia-cutlass-dsl>=4.8 and you require nvidia-cutlass-dsl==4.7.1, we can
      conclude that your requirements are unsatisfiable."""


def test_of_many_tries_the_last_is_shown(tools: Tools) -> None:
    said = "".join(f"WARNING: Retrying (Retry(total={left}))\n" for left in range(4, -1, -1))
    (tools.folder / "said").write_text(f"{said}ERROR: none")
    tools.use(f'cat "{tools.folder / "said"}" >&2; exit 1', uv=False)
    assert tools.fail().notes == ["WARNING: Retrying (Retry(total=0))\nERROR: none"]


@pytest.mark.parametrize("uv", [True, False])
@pytest.mark.parametrize(
    "said, reason",
    [
        (_PIP_OFFLINE, "the package index cannot be reached"),
        (_UV_OFFLINE, "the package index cannot be reached"),
        (_PIP_NONE, "the package index cannot be reached, or has none for this Python"),
        (_PIP_UNKNOWN, "there is no such version for this Python"),
        (_UV_UNKNOWN, "there is no such version for this Python"),
        (_PIP_CONFLICT, "it and the other packages need other versions of one another"),
        (_UV_CONFLICT, "it and the other packages need other versions of one another"),
    ],
    ids=["pip offline", "uv offline", "pip none", "pip unknown", "uv unknown", "pip conflict", "uv conflict"],
)
def test_why_it_cannot_be_installed(tools: Tools, said: str, reason: str, uv: bool) -> None:
    (tools.folder / "said").write_text(said)
    tools.use(f'cat "{tools.folder / "said"}" >&2; exit 1', uv=uv)
    failure = tools.fail()
    assert failure.message == f"nvidia-cutlass-dsl 4.7.1 cannot be installed: {reason}"
    assert failure.notes == [said.strip()]
    assert "--env '4.7.1=" in failure.hints[0]


# the folder's safety


def test_others_may_not_put_another_environment_in_its_place(tools: Tools) -> None:
    (tools.folder / "cache").mkdir(mode=0o777)
    (tools.folder / "cache").chmod(0o777)
    with pytest.raises(EnvironmentFailure, match="others may write to"):
        tools.make()
    assert tools.said == []


def test_a_folder_that_others_may_read_is_closed_to_them(tools: Tools) -> None:
    folder = tools.folder / "cache" / "environments"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    tools.make()
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_is_no_folder_is_not_used(tools: Tools, kind: str) -> None:
    (tools.folder / "cache").mkdir()
    place = tools.folder / "cache" / "environments"
    place.symlink_to("/tmp") if kind == "link" else place.touch()
    with pytest.raises(EnvironmentFailure, match="it is not a folder"):
        tools.make()
    assert tools.said == []


def test_what_cannot_be_written_is_an_error_of_ours(tools: Tools) -> None:
    python = tools.make()
    folder = python.parents[1]
    (folder / _WHOLE).unlink()
    lock = folder.with_name(f"{folder.name}.lock")
    lock.unlink()
    lock.mkdir()
    with pytest.raises(Error, match="cannot be made: Is a directory"):
        tools.make()


def test_what_cannot_be_completed_is_an_error_of_ours(tools: Tools) -> None:
    tools.use(f'mkdir "$(echo "{tools.folder}"/cache/environments/4*/bin)/../cutecc-environment.txt"')
    with pytest.raises(Error, match="cannot be made: Is a directory"):
        tools.make()
    assert tools.environments == []


# what cutecc needs


def requirements_of(monkeypatch: pytest.MonkeyPatch, known: dict[str, list[str] | None]) -> list[str]:
    def requires(name: str) -> list[str] | None:
        if name not in known:
            raise importlib.metadata.PackageNotFoundError(name)
        return known[name]

    monkeypatch.setattr(importlib.metadata, "requires", requires)
    return own_requirements()


def test_requirements_are_those_of_all_its_distributions_without_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, list[str] | None] = {
        "cutecc": [
            "cutecc-runtime==1.0",
            "rich>=13",
            "nvidia-cutlass-dsl>=4.6",
            'nvidia-cutlass-dsl[cu13]>=4.6; extra == "cu13"',
            'pytest; extra == "dev"',
            'tomli; python_version < "3.12"',
        ],
        "cutecc-runtime": ["msgspec>=0.19", "cutecc==1.0", "rich>=13"],
    }
    assert requirements_of(monkeypatch, known) == ["msgspec>=0.19", "rich>=13", 'tomli; python_version < "3.12"']


def test_a_distribution_without_requirements_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert requirements_of(monkeypatch, {"cutecc": None}) == []


def test_a_cutecc_that_is_not_installed_cannot_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EnvironmentFailure, match="it is not installed") as caught:
        requirements_of(monkeypatch, {})
    assert caught.value.hints == ["pip install it, or -e of a clone"]


def test_requirements_of_the_repository() -> None:
    found = own_requirements()
    assert {"click", "msgspec", "numpy", "rich"} <= {re.split(r"[^\w-]", each)[0] for each in found}
    assert not [each for each in found if "extra" in each or each.startswith(("nvidia-cutlass", "cutecc"))]


# environments of the user's


def check(tmp_path: Path, script: str) -> UsageError:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    with pytest.raises(UsageError) as caught:
        check_environment("mine", program)
    return caught.value


def test_the_environment_of_the_caller_can_run_it() -> None:
    check_environment("mine", Path(sys.prefix) / "bin" / "python")


def test_packages_that_are_missing_are_named_with_the_command_that_installs_them(tmp_path: Path) -> None:
    failure = check(tmp_path, "echo 3.12; echo 'nvidia-cutlass-dsl rich'")
    assert failure.message == "--env mine: the environment lacks nvidia-cutlass-dsl, rich"
    assert failure.hints == [f"{tmp_path / 'python'} -m pip install nvidia-cutlass-dsl rich"]


def test_missing_packages_of_a_real_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "own_requirements", lambda: ["no-such-thing>=3", "Typing.Extensions"])
    with pytest.raises(UsageError, match="lacks no-such-thing\n"):
        check_environment("mine", Path(sys.prefix) / "bin" / "python")


@pytest.mark.parametrize("version", ["3.10", "3.9", "2.7"])
def test_an_interpreter_that_is_too_old(tmp_path: Path, version: str) -> None:
    failure = check(tmp_path, f"echo {version}; echo")
    assert failure.message == f"--env mine: its Python is {version}, and cutecc needs 3.11 or newer"


@pytest.mark.parametrize("version", ["3.11", "3.20", "4.0"])
def test_an_interpreter_that_is_new_enough(tmp_path: Path, version: str) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\necho {version}; echo\n")
    program.chmod(0o755)
    check_environment("mine", program)


def test_an_interpreter_without_packages_of_its_own_says_its_version_first(tmp_path: Path) -> None:
    failure = check(tmp_path, "echo 3.6; echo 'No module named importlib.metadata' >&2; exit 1")
    assert "its Python is 3.6" in failure.message


@pytest.mark.parametrize(
    "script, note",
    [("echo broken >&2; exit 1", "broken"), ("exit 0", ""), ("printf '\\377\\376\\n'", ""), ("echo hello", "")],
)
def test_a_program_that_is_no_python(tmp_path: Path, script: str, note: str) -> None:
    failure = check(tmp_path, script)
    assert failure.message == f"--env mine={tmp_path / 'python'} is no Python"
    assert failure.notes == ([note] if note else [])


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        check_environment("mine", tmp_path / "python")
    assert caught.value.message == f"--env mine={tmp_path / 'python'} cannot be started: No such file or directory"


def test_a_folder_of_an_environment_is_not_its_python(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()
    with pytest.raises(UsageError) as caught:
        check_environment("mine", tmp_path)
    assert caught.value.message == f"--env mine={tmp_path} is a folder"
    assert caught.value.hints == [f"name its Python: --env mine={tmp_path / 'bin' / 'python'}"]
