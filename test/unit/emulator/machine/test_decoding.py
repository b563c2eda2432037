"""PTX to programs: where variables are, and PTX that makes none."""

from __future__ import annotations

import numpy as np
import pytest
from small_kernels import PROLOGUE, run

from cutecc.errors import EmulatorError

SHARED = """
.extern .shared .align 16 .b8 dynamic[];
.func own()
{
  .reg .b32 %r1;
  .shared .align 4 .b32 mine;
  mov.u32 %r1, mine;
  st.shared.u32 [%r1], 99;
  ret;
}
"""


def test_dynamic_shared_memory_is_behind_that_of_the_functions_called() -> None:
    body = (
        PROLOGUE
        + """
  mov.u32 %r5, dynamic;
  st.shared.u32 [%r5], 7;
  call.uni own;
  ld.shared.u32 %r6, [%r5];
  st.global.u32 [%rd3], %r6;
"""
    )
    out = np.zeros(32, np.uint32)
    run(body, out, module=SHARED, shared=16)
    assert (out == 7).all()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("  .reg .b128 %q<2>;\n", r"registers of type '\.b128'"),
        ("  brx.idx %r1, NOWHERE;\n", "no list of branch targets 'NOWHERE'"),
        ("  bra NOWHERE;\n", "no label 'NOWHERE'"),
        ("  call.uni one;\n", "does not fit the declaration of 'one'"),
    ],
)
def test_ptx_that_makes_no_program_is_an_error(body: str, message: str) -> None:
    with pytest.raises(EmulatorError, match=message):
        run(PROLOGUE + body, np.zeros(32, np.uint32), module=".func one(.param .b32 x) { ret; }\n")


def test_functions_that_many_call_are_looked_at_once() -> None:
    """Each calls the one before twice: there are 2^40 ways to the first."""
    calls = [f"call.uni f{number}; call.uni f{number};" for number in range(40)]
    module = "".join(f".func f{number}() {{ {body} ret; }}\n" for number, body in enumerate(["", *calls]))
    run(PROLOGUE + "  setp.ne.u32 %p1, %r1, %r1;\n  @%p1 call f40;\n", np.zeros(32, np.uint32), module=module)
