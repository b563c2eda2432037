"""Broken inputs that make the bindings abort: in a worker, an ordinary error."""

from __future__ import annotations

import random
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from cutecc.compilation.request import CompileRequest
from cutecc.compilation.worker import lower_in_worker
from cutecc.errors import ParseError
from cutecc.ir.modules import fresh_context, parse, to_bytecode, to_text
from cutecc.opt.request import ChunkFinished, RewriteRequest
from cutecc.opt.worker import rewrite_in_worker

ABORTS = Path(__file__).parents[2] / "inputs" / "aborts-while-parsing.mlir"


def rewritten(request: RewriteRequest) -> ChunkFinished:
    told = []
    rewrite_in_worker(request, told.append)
    (done,) = told
    return done


def test_the_input_still_aborts_a_process_that_parses_it() -> None:
    """Otherwise the tests below prove nothing: find another input."""
    code = "import sys; from cutecc.ir.modules import *\nwith fresh_context(): parse(open(sys.argv[1], 'rb').read())"
    done = subprocess.run([sys.executable, "-c", code, ABORTS], capture_output=True, timeout=100)
    assert done.returncode < 0


def test_an_abort_while_parsing_is_a_parse_error_that_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(ParseError) as caught:
        lower_in_worker(CompileRequest(ABORTS.read_bytes(), "sm_90a", "f", "broken.mlir", output=tmp_path / "out"))
    assert caught.value.message.startswith("broken.mlir: reading the module aborted: ")
    assert "SIGABRT" in caught.value.message
    assert "out_of_range" in "".join(caught.value.notes)
    assert not (tmp_path / "out").exists()


def test_the_same_when_only_rewriting() -> None:
    with pytest.raises(ParseError, match=r"broken\.mlir: reading the module aborted"):
        rewritten(RewriteRequest(ABORTS.read_bytes(), "broken.mlir", "sm_90a", "cse"))


CHECK_EACH = """
import os, sys
from pathlib import Path
from cutecc.errors import ParseError
from cutecc.ir.modules import fresh_context, parse
for path in sorted(Path(sys.argv[1]).iterdir()):
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            with fresh_context():
                parse(path.read_bytes())
            os._exit(0)
        except ParseError:
            os._exit(1)
        except BaseException:
            os._exit(2)
    status = os.waitpid(child, 0)[1]
    print(path.name, -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status), flush=True)
"""


@pytest.mark.slow
def test_damaged_bytecode_is_a_parse_error_or_contained(small_kernel, tmp_path: Path) -> None:
    """Cut short or with flipped bytes: it parses, is refused with `ParseError`, or takes down only its own process."""
    with fresh_context():
        data = to_bytecode(parse(small_kernel.bytecode))
    chance = random.Random(0)
    folder = tmp_path / "damaged"
    folder.mkdir()
    for number in range(60):
        damaged = bytearray(data)
        if number % 2:
            del damaged[chance.randrange(4, len(data)) :]
        else:
            for _ in range(3):
                damaged[chance.randrange(4, len(data))] = chance.randrange(256)
        (folder / f"{number:02d}").write_bytes(damaged)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHECK_EACH), folder], capture_output=True, text=True, timeout=300
    )
    statuses = dict(line.split() for line in done.stdout.splitlines())
    assert len(statuses) == 60, done.stderr
    assert "2" not in statuses.values(), "an exception other than ParseError"
    assert "1" in statuses.values()
    aborting = [name for name, status in statuses.items() if status.startswith("-")]
    for name in aborting[:2]:
        with pytest.raises(ParseError, match="reading the module aborted"):
            rewritten(RewriteRequest((folder / name).read_bytes(), name, "sm_80"))


def test_the_worker_reads_what_is_fine(small_kernel) -> None:
    with fresh_context():
        expected = to_text(parse(small_kernel.bytecode))
    assert rewritten(RewriteRequest(small_kernel.bytecode, "k.mlir", "sm_80")).output.decode() == expected
