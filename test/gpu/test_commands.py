"""The commands on a GPU: run, bench, and a bundle where the DSL is not installed."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

from kernels import ROOT

ADD = ROOT / "examples" / "elementwise_add.py"
CUTECC = [sys.executable, "-m", "cutecc"]


def run(*command: object, status: int = 0, **settings: object) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=600, **settings)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def without_dsl(tmp_path: Path) -> dict[str, str]:
    """An environment in which importing anything of the wheel fails."""
    import os

    blocker = tmp_path / "blocker"
    blocker.mkdir()
    (blocker / "sitecustomize.py").write_text(
        textwrap.dedent("""
        import sys

        class Blocker:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] in ("cutlass", "nvidia_cutlass_dsl"):
                    raise ImportError(f"{name} is not installed here")

        sys.meta_path.insert(0, Blocker())
        """)
    )
    return {**os.environ, "PYTHONPATH": f"{blocker}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}


def test_run_compares_with_the_reference() -> None:
    result = json.loads(run(*CUTECC, "run", ADD, "--size", "M=77,N=100", "--runs", "3", "--json"))
    assert result["ok"] is True
    assert result["runs"][0]["sizes"]["M"] == 77
    assert len(result["runs"]) == 3


def test_run_finds_a_wrong_kernel(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(ADD.read_text().replace("return a + b", "return a - b"))
    output = run(*CUTECC, "run", wrong, status=1)
    assert "WRONG" in output
    assert "differ" in output


def test_a_bundle_runs_without_the_dsl(tmp_path: Path) -> None:
    bundle = tmp_path / "add.cutecc"
    run(*CUTECC, "compile", ADD, "--target", "sm_80,sm_90a", "--bundle", bundle, "-q", cwd=tmp_path)
    reference = tmp_path / "reference.py"
    reference.write_text('# cutecc: outputs = ["c"]\n\ndef reference(a, b, c):\n    return a + b\n')
    environment = without_dsl(tmp_path)
    output = run(*CUTECC, "run", bundle, "--reference", f"{reference}:reference", "--json", env=environment)
    assert json.loads(output)["ok"] is True
    saved = tmp_path / "out.npz"
    run(*CUTECC, "run", bundle, "--size", "M=5,N=8", "--save", saved, env=environment)
    import numpy as np

    assert np.isfinite(np.load(saved)["c"]).all()


def test_bench_reports_rates(tmp_path: Path) -> None:
    report = tmp_path / "bench.json"
    run(*CUTECC, "bench", ADD, "--size", "M=4096,N=1024,4096", "--json", report)
    measurements = json.loads(report.read_text())["measurements"]
    assert {each["sizes"]["N"] for each in measurements} == {1024, 4096}
