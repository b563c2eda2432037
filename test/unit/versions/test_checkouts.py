"""The files of git revisions, of small repositories: none of them changes, and nothing is left in them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from cutecc.errors import UsageError
from cutecc.versions.checkouts import Tree, check_out, working_tree


def git(repository: Path, *words: str) -> str:
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    environment = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    command = ["git", "-C", str(repository), *words]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.strip()


def commit(repository: Path, files: dict[str, str | None]) -> str:
    """Write the files, remove those with `None`, and commit everything; returns the hash."""
    for name, text in files.items():
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink() if text is None else path.write_text(text)
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--allow-empty", "--message", "x")
    return git(repository, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One whose last revision but one has another `k.py`, in which the test starts."""
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "--quiet", "--initial-branch", "main")
    commit(repository, {"k.py": "old", "deep/er/k.py": "old deep", "src/package/common.py": "old common"})
    commit(repository, {"k.py": "new", "deep/er/k.py": "new deep", "src/package/common.py": "new common"})
    monkeypatch.chdir(repository)
    return repository


def read(tree: Tree) -> list[str]:
    """What the kernel files hold, as a process in the folder of the tree finds them."""
    return [(tree.folder / kernel.partition(":")[0]).read_text() for kernel in tree.kernels]


def refused(revision: str, kernels: list[str], folder: Path) -> UsageError:
    with pytest.raises(UsageError) as caught:
        check_out(revision, kernels, folder)
    return caught.value


def test_an_earlier_revision_beside_the_working_tree(repository: Path, tmp_path: Path) -> None:
    (repository / "k.py").write_text("newest")
    tree = check_out("HEAD~1", ["k.py", "k.py:function"], tmp_path / "out")
    assert tree.kernels == ("k.py", "k.py:function")
    assert read(tree) == ["old", "old"]
    assert tree.commit == git(repository, "rev-parse", "HEAD~1")
    assert read(working_tree(["k.py"])) == ["newest"]
    assert working_tree(["k.py"]).commit is None


@pytest.mark.parametrize("revision", ["HEAD~1", "main~1", "v1", "v1^{commit}", "@{0}~1"])
def test_whatever_names_a_revision(repository: Path, tmp_path: Path, revision: str) -> None:
    git(repository, "tag", "--annotate", "--message", "x", "v1", "HEAD~1")
    assert read(check_out(revision, ["k.py"], tmp_path / "out")) == ["old"]


def test_a_process_starts_in_the_same_folder(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository / "deep")
    tree = check_out("HEAD~1", ["er/k.py", "../k.py"], tmp_path / "out")
    assert tree.folder == tmp_path / "out" / "deep"
    assert tree.kernels == ("er/k.py", "../k.py")
    assert read(tree) == ["old deep", "old"]


def test_a_folder_that_the_revision_does_not_have(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "fresh").mkdir()
    monkeypatch.chdir(repository / "fresh")
    assert read(check_out("HEAD~1", ["../k.py"], tmp_path / "out")) == ["old"]


def test_kernels_of_a_repository_elsewhere(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tree = check_out("HEAD~1", ["repository/k.py", str(repository / "deep" / "er" / "k.py")], tmp_path / "out")
    assert tree.folder == tmp_path / "out"
    assert read(tree) == ["old", "old deep"]


def test_a_link_to_a_repository(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to(repository)
    monkeypatch.chdir(tmp_path)
    assert read(check_out("HEAD~1", ["link/k.py"], tmp_path / "out")) == ["old"]


def test_packages_are_those_of_the_revision(repository: Path, tmp_path: Path) -> None:
    tree = check_out("HEAD~1", ["k.py"], tmp_path / "out")
    assert tree.import_folders == (tmp_path / "out", tmp_path / "out" / "src")
    assert (tree.import_folders[1] / "package" / "common.py").read_text() == "old common"
    commit(repository, {"src/package/common.py": None})
    assert check_out("HEAD", ["k.py"], tmp_path / "other").import_folders == (tmp_path / "other",)


def test_without_kernels_it_is_the_repository_of_the_current_folder(repository: Path, tmp_path: Path) -> None:
    tree = check_out("HEAD~1", [], tmp_path / "out")
    assert tree.kernels == ()
    assert (tree.folder / "k.py").read_text() == "old"


def test_links_programs_and_what_archives_leave_out(repository: Path, tmp_path: Path) -> None:
    (repository / "inside.py").symlink_to("k.py")
    (repository / "absolute").symlink_to("/etc/hostname")
    (repository / "outside").symlink_to("../../elsewhere")
    (repository / "program").write_text("#!/bin/sh")
    (repository / "program").chmod(0o755)
    commit(
        repository, {".gitattributes": "k.py export-ignore\ndeep/er/k.py export-subst", "deep/er/k.py": "$Format:%H$"}
    )
    tree = check_out("HEAD", ["k.py", "deep/er/k.py"], tmp_path / "out")
    assert read(tree) == ["new", "$Format:%H$"]
    assert os.readlink(tree.folder / "absolute") == "/etc/hostname"
    assert os.readlink(tree.folder / "outside") == "../../elsewhere"
    assert (tree.folder / "inside.py").read_text() == "new"
    assert os.access(tree.folder / "program", os.X_OK)


def test_names_of_every_kind(repository: Path, tmp_path: Path) -> None:
    names = ["-k.py", "a b.py", "ü.py", "[x]*.py", 'q"uote.py']
    commit(repository, dict.fromkeys(names, "text"))
    assert read(check_out("HEAD", names, tmp_path / "out")) == ["text"] * len(names)


# what stays as it is


def state(repository: Path) -> tuple[str, str, str, list[str], dict[str, bytes]]:
    files = {
        str(path.relative_to(repository)): path.read_bytes()
        for path in sorted(repository.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }
    inside = sorted(str(each.relative_to(repository)) for each in (repository / ".git").rglob("*"))
    return (
        git(repository, "status", "--porcelain"),
        git(repository, "stash", "list"),
        git(repository, "worktree", "list"),
        inside,
        files,
    )


def test_a_dirty_tree_stays_as_it_is_and_nothing_is_left_behind(repository: Path, tmp_path: Path) -> None:
    (repository / "k.py").write_text("staged")
    git(repository, "add", "k.py")
    (repository / "k.py").write_text("dirty")
    (repository / "untracked.py").write_text("untracked")
    (repository / "deep" / "er" / "k.py").unlink()
    index = (repository / ".git" / "index").read_bytes()
    before = state(repository)
    head = git(repository, "rev-parse", "HEAD")
    tree = check_out("HEAD~1", ["k.py"], tmp_path / "out")
    assert sorted(each.name for each in tree.folder.iterdir()) == ["deep", "k.py", "src"]
    assert (repository / ".git" / "index").read_bytes() == index
    assert state(repository) == before
    assert git(repository, "rev-parse", "HEAD") == head
    assert {each.name for each in tmp_path.iterdir()} == {"repository", "out"}


def test_in_a_hook_that_has_an_index_of_its_own(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_INDEX_FILE", str(repository / ".git" / "index"))
    index = (repository / ".git" / "index").read_bytes()
    assert read(check_out("HEAD~1", ["k.py"], tmp_path / "out")) == ["old"]
    assert (repository / ".git" / "index").read_bytes() == index


# what there is not


@pytest.mark.parametrize("revision", ["nowhere", "HEAD~7", "--all", "-h", "HEAD:k.py", "$(touch x)", "HEAD HEAD"])
def test_an_unknown_revision(repository: Path, tmp_path: Path, revision: str) -> None:
    assert refused(revision, ["k.py"], tmp_path / "out").message == (
        f"git:{revision}: there is no such revision in {repository}"
    )
    assert not (tmp_path / "out").exists()


def test_a_shallow_clone_says_how_to_get_the_rest(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{repository}", "shallow")
    monkeypatch.chdir(tmp_path / "shallow")
    assert "git fetch --unshallow" in refused("HEAD~1", ["k.py"], tmp_path / "out").hints[0]
    monkeypatch.chdir(repository)
    assert refused("HEAD~7", ["k.py"], tmp_path / "out").hints == []


def test_a_file_that_the_revision_does_not_have(repository: Path, tmp_path: Path) -> None:
    (repository / "fresh.py").write_text("fresh")
    assert refused("HEAD", ["fresh.py"], tmp_path / "out").message == "git:HEAD has no fresh.py"


def test_a_new_file_beside_others_is_left_out(repository: Path, tmp_path: Path) -> None:
    (repository / "fresh.py").write_text("fresh")
    assert check_out("HEAD~1", ["fresh.py", "k.py:f", "deep/er/k.py"], tmp_path / "out").kernels == (
        "k.py:f",
        "deep/er/k.py",
    )
    (repository / "other.py").touch()
    assert refused("HEAD", ["fresh.py", "other.py"], tmp_path / "x").message == "git:HEAD has no fresh.py, other.py"


def test_a_file_that_is_no_more(repository: Path, tmp_path: Path) -> None:
    commit(repository, {"k.py": None})
    assert read(check_out("HEAD~1", ["k.py"], tmp_path / "out")) == ["new"]
    assert refused("HEAD", ["k.py"], tmp_path / "other").message == "git:HEAD has no k.py"


def test_a_folder_where_a_file_should_be(repository: Path, tmp_path: Path) -> None:
    assert refused("HEAD", ["deep"], tmp_path / "out").message == "git:HEAD has no deep"


def test_a_file_outside_of_any_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "k.py").touch()
    failure = refused("HEAD", [str(tmp_path / "k.py")], tmp_path / "out")
    assert failure.message == f"{tmp_path / 'k.py'} is in no git repository, so that it has no revisions"
    failure = refused("HEAD", [str(tmp_path / "no" / "folder" / "k.py")], tmp_path / "out")
    assert "is in no git repository" in failure.message


def test_a_repository_that_git_does_not_trust_says_so(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    failure = refused("HEAD", ["k.py"], tmp_path / "out")
    assert any("dubious ownership" in note for note in failure.notes)


def test_kernels_of_several_repositories(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    commit(other, {"k.py": "other"})
    failure = refused("HEAD", ["k.py", str(other / "k.py")], tmp_path / "out")
    assert failure.message == f"git:HEAD: the kernels are of several repositories: {repository}, {other}"


def test_without_git(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused("HEAD", ["k.py"], tmp_path / "out").message == "git cannot be started: No such file or directory"


def test_what_git_cannot_write_is_an_error(repository: Path, tmp_path: Path) -> None:
    (blob,) = [
        each
        for each in (repository / ".git" / "objects").rglob("*")
        if each.name == git(repository, "rev-parse", "HEAD:k.py")[2:]
    ]
    blob.chmod(0o644)
    blob.write_bytes(b"damaged")
    failure = refused("HEAD", ["k.py"], tmp_path / "out")
    assert failure.message == f"git:HEAD cannot be checked out of {repository}"
    assert failure.notes
