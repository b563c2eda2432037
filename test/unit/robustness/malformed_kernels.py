"""Python files that are called kernels: broken, hostile, endless in size, or no kernels at all."""

from __future__ import annotations

from pathlib import Path

from conftest import KERNELS
from malformed_records import HOSTILE_NAME

REAL = (KERNELS / "vector_copy.py").read_text()
_IMPORTS = "import cutlass\nfrom cutlass import cute\n\n\n"
_EMPTY = '# cutecc: target = "sm_80"\n' + _IMPORTS + "@cute.jit\ndef host():\n    pass\n"


def _after_imports(code: str) -> str:
    """The real kernel, which first does something else."""
    return REAL.replace("TILE = ", f"{code}\nTILE = ", 1)


def _header(*lines: str) -> str:
    """A kernel with other header lines."""
    return "".join(f"# cutecc: {line}\n" for line in lines) + _EMPTY.partition("\n")[2]


def _in_kernel(code: str) -> str:
    """The real kernel, which does something else while it is traced."""
    return REAL.replace("    thread, _, _ = cute.arch.thread_idx()\n", f"    {code}\n", 1)


KERNEL_FILES: dict[str, str | bytes] = {
    "empty": "",
    "only-comments": "# nothing\n" * 1000,
    "no-kernel": "x = 1\n",
    "syntax-error": "def f(:\n",
    "indentation-error": "def f():\nreturn\n",
    "tabs-and-spaces": "if True:\n\tx = 1\n        y = 2\n",
    "null-byte": b"import os\0\n",
    "not-utf-8": b"x = '\xff\xfe'\n",
    "utf-16": REAL.encode("utf-16"),
    "bom": b"\xef\xbb\xbf" + REAL.encode(),
    "crlf": REAL.replace("\n", "\r\n").encode(),
    "unknown-coding": b"# -*- coding: klingon -*-\nx = 1\n",
    "binary": bytes(range(256)) * 100,
    "pickle": b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00cos\nabort\n(tR.",
    "enormous": REAL + "# " + "x" * 5_000_000,
    "many-functions": "".join(f"def f{i}(): pass\n" for i in range(5000)) + _EMPTY,
    "deep-parentheses": "x = " + "(" * 5000 + ")" * 5000 + "\n",
    "deep-lists": "x = " + "[" * 5000 + "]" * 5000 + "\n",
    "deep-additions": "x = " + "+".join(["1"] * 100_000) + "\n",
    "deep-attributes": "x = a" + ".a" * 100_000 + "\n",
    "number-of-ten-thousand-digits": f"x = {'9' * 10_000}\n",
    "recursion-at-import": _after_imports("def f(): f()\nf()"),
    "recursion-in-repr": _after_imports("class A(Exception):\n    def __str__(self): return str(self)\nraise A()"),
    "raises": _after_imports("raise ValueError('no')"),
    "raises-hostile": _after_imports(f"raise ValueError({HOSTILE_NAME!r})"),
    "raises-huge": _after_imports("raise ValueError('x' * 10_000_000)"),
    "raises-many-lines": _after_imports("raise ValueError('error: x\\n' * 100_000)"),
    "raises-base-exception": _after_imports("raise BaseException('no')"),
    "raises-keyboard-interrupt": _after_imports("raise KeyboardInterrupt"),
    "raises-generator-exit": _after_imports("raise GeneratorExit"),
    "raises-a-group": _after_imports("raise ExceptionGroup('many', [ValueError(i) for i in range(1000)])"),
    "raises-without-str": _after_imports("class A(Exception):\n    def __str__(self): raise self\nraise A()"),
    "raises-a-chain": _after_imports("def f(n):\n    try: n and f(n - 1)\n    finally: raise ValueError(n)\nf(100)"),
    "exits": _after_imports("import sys; sys.exit(3)"),
    "exits-with-text": _after_imports(f"import sys; sys.exit({HOSTILE_NAME!r})"),
    "exits-at-once": _after_imports("import os; os._exit(0)"),
    "exits-at-once-as-failed": _after_imports("import os; os._exit(7)"),
    "aborts": _after_imports("import os; os.abort()"),
    "kills-itself": _after_imports("import os; os.kill(os.getpid(), 9)"),
    "interrupts-itself": _after_imports("import os, signal; os.kill(os.getpid(), signal.SIGINT)"),
    "crashes": _after_imports("import ctypes; ctypes.string_at(0)"),
    "closes-streams": _after_imports("import os; [os.close(n) for n in (0, 1, 2)]"),
    "closes-everything": _after_imports("import os; os.closerange(0, 100)"),
    "deletes-itself": _after_imports("import os; os.unlink(__file__)"),
    "changes-itself": _after_imports("open(__file__, 'a').write('\\nx = 1\\n')"),
    "changes-folder": _after_imports("import os; os.chdir('/')"),
    "changes-arguments": _after_imports("import sys; sys.argv[:] = ['x']; sys.path.clear()"),
    "changes-modules": _after_imports("import sys; sys.modules.clear()"),
    "changes-builtins": _after_imports("import builtins; builtins.print = builtins.len = None"),
    "changes-its-name": _after_imports("__name__ = 5; __file__ = None; __doc__ = []"),
    "imports-itself": _after_imports("import input"),
    "imports-in-a-circle": _after_imports("from other import nothing"),
    "imports-what-is-missing": _after_imports("import no_such_module"),
    "imports-relatively": _after_imports("from . import other"),
    "imports-cutecc": _after_imports("import cutecc; cutecc.compile(None)"),
    "leaves-a-thread": _after_imports(
        "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()"
    ),
    "leaves-an-exit-handler": _after_imports("import atexit, os; atexit.register(os.abort)"),
    "leaves-a-signal-handler": _after_imports("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"),
    "sets-hooks": _after_imports("import sys; sys.excepthook = sys.settrace = None; sys.stdout = None"),
    "raises-while-traced": _in_kernel("raise ValueError('no')"),
    "exits-while-traced": _in_kernel("raise SystemExit(0)"),
    "aborts-while-traced": _in_kernel("import os; os.abort()"),
    "recurses-while-traced": _in_kernel("copy_kernel(src, dst, tiled_copy)"),
    "returns-nonsense": REAL.replace(
        "def vector_copy(src: cute.Tensor, dst: cute.Tensor):",
        "def vector_copy(src, dst):\n    return object()\n\n\ndef unused(src, dst):",
    ),
    "launches-nothing": _EMPTY,
    "launches-a-huge-grid": REAL.replace("grid=[", "grid=[2**40, 2**40, 2**40][:0] + ["),
    "launches-a-huge-block": REAL.replace("block=[cute.size(threads), 1, 1]", "block=[2**20, 2**20, 2**20]"),
    "launches-a-negative-block": REAL.replace("block=[cute.size(threads), 1, 1]", "block=[-1, 0, 1]"),
    "launches-a-block-of-text": REAL.replace("block=[cute.size(threads), 1, 1]", "block='many'"),
    "kernel-is-a-class": REAL.replace(
        "@cute.jit\ndef vector_copy", "class vector_copy: pass\n\n\n@cute.jit\ndef other"
    ),
    "kernel-is-a-number": REAL + "\n\nvector_copy = 5\n",
    "kernel-has-a-hostile-name": REAL + f"\n\nvector_copy.__name__ = {HOSTILE_NAME!r}\n",
    "layout-huge": REAL.replace("(4, 32), order", "(2**31 - 1, 2**31 - 1), order"),
    "layout-negative": REAL.replace("(4, 32), order", "(-4, 32), order"),
    "layout-zero": REAL.replace("(4, 32), order", "(0, 32), order"),
    "layout-deep": _after_imports("TUPLE = 4\nfor _ in range(2000):\n    TUPLE = (TUPLE,)").replace(
        "(4, 32), order", "TUPLE, order"
    ),
    "header-no-toml": _header("target = = 5"),
    "header-unknown-key": _header("colour = 'red'"),
    "header-key-twice": _header('target = "sm_80"', 'target = "sm_90a"'),
    "header-of-wrong-types": _header("target = 80", "outputs = 5"),
    "header-of-unknown-target": _header('target = "sm_9999"'),
    "header-of-hostile-target": _header('target = "sm_80\\u001b]0;x\\u0007"'),
    "header-deep": _header("args = " + "{a = " * 2000 + "1" + "}" * 2000),
    "header-of-deep-lists": _header("outputs = " + "[" * 5000 + "]" * 5000),
    "header-long": _header('target = "' + "x" * 1_000_000 + '"'),
    "header-many": _header(*[f'args.a{i} = "f32"' for i in range(5000)]),
    "header-of-a-huge-number": _header(f"tolerance = {'9' * 10_000}"),
    "header-infinite": _header("tolerance = inf", "bytes = nan"),
    "header-arithmetic-endless": _header('target = "sm_80"', 'bytes = "9**9**9**9"'),
    "header-arithmetic-deep": _header('bytes = "' + "(" * 5000 + "1" + ")" * 5000 + '"'),
    "header-arithmetic-code": _header('''bytes = "__import__('os').abort()"'''),
    "header-entry-code": _header('target = "sm_80"', '''entry = "__import__('os').abort()"'''),
    "header-entry-missing": _header('target = "sm_80"', 'entry = "nothing"'),
    "header-entry-deep": _header('target = "sm_80"', 'entry = "' + "(" * 5000 + '"'),
    "header-reference-missing": REAL.replace('reference = "reference"', 'reference = "nothing"'),
    "header-output-unknown": REAL.replace('outputs = ["dst"]', 'outputs = ["nothing"]'),
    "header-spec-unknown": REAL.replace('args.src = "f16', 'args.src = "f99'),
    "header-spec-huge": REAL.replace("?M=333", f"?M={2**80}"),
    "header-spec-deep": REAL.replace('args.src = "', 'args.src = "' + "(" * 5000),
    "header-sizes-that-contradict": REAL.replace('args.dst = "f16[?M,', 'args.dst = "f16[?M=5,'),
    "header-not-ascii": _header("target = \u201csm_80\u201d"),
    "header-control-characters": _header('target = "\x07\x1b[31m"'),
    "reference-raises": REAL.replace("return src + 0", "raise ValueError('no')"),
    "reference-exits": REAL.replace("return src + 0", "import os; os._exit(0)"),
    "reference-of-another-shape": REAL.replace("return src + 0", "return src[:1, :1]"),
    "reference-of-another-type": REAL.replace("return src + 0", "return 'text'"),
    "reference-of-nothing": REAL.replace("return src + 0", "return None"),
    "reference-recursive": REAL.replace("return src + 0", "return reference(src, dst)"),
    "reference-prints": REAL.replace("return src + 0", "print('\x1b[0mhello' * 3); return src + 0"),
}
"""By name, what is in `input.py`."""

OF_RUNS = [
    name for name in KERNEL_FILES if name.startswith(("reference", "header-output", "header-reference", "exits"))
]
"""Those that make a difference when the kernel runs."""


def place(folder: Path, name: str) -> None:
    """Write the file, and one that it may import."""
    content = KERNEL_FILES[name]
    (folder / "input.py").write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "other.py").write_text("import input\n")
