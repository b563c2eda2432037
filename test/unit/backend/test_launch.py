import pytest
from host_functions import host_function, launch

from cutecc.backend.host import translate
from cutecc.backend.launch import dynamic_shared_bytes
from cutecc.ir.modules import fresh_context, parse


def found(*launches: tuple[str, str], within: str = "%s") -> dict[str, int | None]:
    """What is said of launches of kernels with so much dynamic shared memory."""
    operations = ["%n = arith.constant 2048 : i64"]
    for number, (kernel, shared) in enumerate(launches):
        passed = ("%i", "i32") if kernel == "takes_i32" else ()
        operations.append(within % launch(kernel, *passed, shared=shared, name=f"c{number}"))
    with fresh_context():
        return dynamic_shared_bytes(translate(parse(host_function(*operations).encode())))


@pytest.mark.parametrize("within", ["%s", "scf.if %%b {\n%s\n}"])
def test_constants_are_read(within: str):
    assert found(("takes_i32", "%n"), ("takes_nothing", "%none"), within=within) == {
        "takes_i32": 2048,
        "takes_nothing": 0,
    }


def test_what_is_not_launched_is_absent():
    assert found(("takes_i32", "%n")) == {"takes_i32": 2048}


def test_a_computed_size_is_unknown():
    assert found(("takes_i32", "%l"), ("takes_nothing", "%n")) == {"takes_i32": None, "takes_nothing": 2048}


def test_launches_that_differ_are_unknown():
    assert found(("takes_nothing", "%n"), ("takes_nothing", "%none")) == {"takes_nothing": None}
    assert found(("takes_nothing", "%n"), ("takes_nothing", "%n")) == {"takes_nothing": 2048}
