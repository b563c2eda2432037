"""Which option set's code is kept."""

from cutecc.backend.llvm.candidates import Quality, has_room, others

LOG = """ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
    0 bytes stack frame, {stores} bytes spill stores, 8 bytes spill loads
ptxas info    : Used {registers} registers, used 1 barriers, 360 bytes cmem[0]
"""
SERIALISED = (
    "ptxas info    : (C7512) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
    "insufficient register resources for the function 'k'\n"
)


def test_what_a_log_says():
    quality = Quality.of(LOG.format(stores=4, registers=168) + SERIALISED)
    assert (quality.spilled_bytes, quality.serialisations, quality.registers) == (12, 1, 168)
    assert str(quality) == "168 registers, 12 bytes of spills, 1 warnings of serialised wgmma"


def test_a_wait_that_ptxas_adds_is_no_serialisation():
    log = "ptxas info    : (C7517) wgmma.wait_group is injected in around line 1752 by compiler in function 'k'\n"
    assert Quality.of(LOG.format(stores=0, registers=168).replace("8 bytes spill", "0 bytes spill") + log).is_clean


def test_each_trouble_has_cures_to_try_and_good_code_none():
    assert others(Quality.of("")) == others(Quality(0, 0, 255)) == []
    against_spills = others(Quality(0, 4, 20))
    against_serialisation = others(Quality(1, 0, 20))
    assert against_serialisation == others(Quality(1, 4, 20))
    # One that orders instructions anew may serialise what is not.
    assert [each.name for each in against_serialisation] == ["sink", "move"]
    assert [each.name for each in against_spills] == ["sink", "pressure", "move"]


def test_three_option_sets_are_tried_at_most_and_two_of_long_code():
    assert has_room(1, 100_000) and not has_room(2, 100_000)
    assert has_room(2, 8_000) and not has_room(2, 8_001)
    assert not has_room(3, 10)


def test_the_best_waits_least_then_spills_least_then_takes_the_fewest_registers():
    best, *others = Quality(0, 0, 40), Quality(0, 0, 255), Quality(0, 8, 20), Quality(1, 0, 20)
    assert sorted([*reversed(others), best]) == [best, *others]
