"""Which option set's code is kept."""

from cutecc.backend.llvm.candidates import Quality, others

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


def test_each_trouble_has_a_cure_to_try_and_good_code_none():
    assert others(Quality.of("")) == others(Quality(0, 0, 255)) == []
    (against_spills,) = others(Quality(4, 0, 20))
    (against_serialisation,) = others(Quality(0, 1, 20))
    assert others(Quality(4, 1, 20)) == [against_spills, against_serialisation]
    assert against_spills != against_serialisation


def test_the_best_spills_least_then_waits_least_then_takes_the_fewest_registers():
    best, *others = Quality(0, 0, 40), Quality(0, 0, 255), Quality(0, 1, 20), Quality(8, 0, 20)
    assert sorted([*reversed(others), best]) == [best, *others]
