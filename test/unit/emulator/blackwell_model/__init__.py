"""Which element goes where on a Blackwell tensor core, written from the PTX ISA manual alone: what the emulator is
checked against, so nothing here imports cutecc, and each module names the sections that it was written from.

Section numbers are those of PTX ISA 9.1, where 9.7.16 is the family of `tcgen05`. Where the manual has a picture only,
the text that goes with it decides, and then public layouts of the same instructions: those of CUTLASS, and what CuTe
DSL's atoms say of themselves. Docstrings say where that is so, and where sources differ.
"""
