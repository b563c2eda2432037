"""What kind of work a SASS instruction does. Instructions of the uniform datapath count where their work belongs."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

OTHER = "other"
"""Of opcodes that no rule knows."""

_GUARD = re.compile(r"@!?U?P\w+\s+")
_WIDTHS = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128, "256": 256}
_MEMORY = {
    "LDG": "global load",
    "STG": "global store",
    "LDS": "shared load",
    "STS": "shared store",
    "ULDS": "shared load",
    "USTS": "shared store",
    "STAS": "shared store",
    "LDL": "local load",
    "STL": "local store",
    "LDC": "constant load",
    "ULDC": "constant load",
    "LDCU": "constant load",
    "LD": "generic load",
    "ST": "generic store",
    "ULD": "global load",
    "ULDG": "global load",
}
_SPILLS = {"LDL": "spill load", "STL": "spill store"}

_CLASSES: dict[str, str] = {
    "async copy": "LDGSTS",
    "bulk copy": "UBLKCP UBLKPF UBLKRED UTMALDG UTMASTG UTMAREDG UTMAPF UTMACCTL UTMACMDFLUSH UBLKL2",
    "matrix load": "LDSM STSM MOVM LDTM STTM UTCCP UTCSHIFT LDT STT UTCLDSWS UTCSTSWS",
    "matrix": "HMMA IMMA DMMA BMMA QMMA OMMA HGMMA IGMMA QGMMA BGMMA UTCHMMA UTCIMMA UTCQMMA UTCOMMA UTCMXQMMA",
    "texture and surface": "TEX TLD TLD4 TMML TXD TXQ SULD SUST SURED SUATOM SUQUERY",
    "atomic": "ATOM ATOMS ATOMG RED REDG REDS REDAS UATOMS UREDGR LDGMC",
    "conversion": "F2F F2I F2FP F2IP I2F I2I I2IP I2FP FRND F2F16 UF2F UF2I UF2FP UF2IP UI2F UI2I UI2FP UI2IP UFRND",
    "special function": "MUFU",
    "no operation": "NOP",
    "float 16": "HADD2 HFMA2 HMUL2 HMNMX2 HADD2_32I HFMA2_32I HMUL2_32I HSET2 VHMNMX",
    "float 32": "FHFMA FHADD FADD FADD2 FADD32I FFMA FFMA2 FFMA32I FMUL FMUL2 FMUL32I FMNMX FMNMX3 FSWZADD FCHK FSET "
    "RRO UFADD UFFMA UFMUL UFMNMX UFSET",
    "float 64": "DADD DFMA DMUL DMNMX DSET",
    "integer": "IADD IADD2 IADD3 IADD32I IMAD IMAD32I IMUL IMUL32I IMNMX IMNMX3 IABS IDP IDP4A ISAD ISCADD ISCADD32I "
    "LEA VABSDIFF VABSDIFF4 VIADD VIADDMNMX VIMNMX VIMNMX3 XMAD IADD_64 VIADD_64 "
    "UIADD3 UIADD UIMAD UIMUL UIABS ULEA UIMNMX UVIADD UVIMNMX UVIADDMNMX UIADD3_64 UIMNMX3 UIDP",
    "logic and shift": "LOP LOP3 LOP32I SHF SHL SHR BFE BFI BMSK BREV FLO POPC PRMT SGXT "
    "ULOP ULOP3 ULOP32I USHF USHL USHR UBMSK UBREV UFLO UPOPC UPRMT USGXT",
    "move": "MOV MOV32I UMOV R2UR UR2R S2R S2UR CS2R CS2UR B2R R2B P2R R2P UP2UR UR2UP MOV64IUR UMOV64 LEPC AL2P "
    "GETLMEMBASE SETLMEMBASE PMTRIG R2PMTRIG S2DP GETCRSPTR SETCRSPTR ULEPC",
    "compare and select": "ISETP FSETP DSETP HSETP2 ISET PSETP PLOP3 CSETP CSET PSET SEL FSEL ICMP FCMP VSETP "
    "UISETP UFSETP UPSETP UPLOP3 USEL UFSEL USETP",
    "warp": "SHFL VOTE VOTEU VOTE_VTG MATCH REDUX CREDUX ELECT UREDUX ENDCOLLECTIVE",
    "barrier and fence": "BAR UCGABAR_ARV UCGABAR_WAIT SYNCS DEPBAR LDGDEPBAR UTCBAR UTMACMDBAR MEMBAR FENCE ERRBAR "
    "ARRIVES WARPSYNC WARPGROUP WARPGROUPSET CGAERRBAR UTCATOMSWS ACQBULK ACQSHMINIT UGETNEXTWORKID WARPSYNC_ALL "
    "USYNCS CCTL CCTLL CCTLT UCCTL DEPBAR_LE UVIRTCOUNT QSPC USETMAXREG PREEXIT",
    "control": "BRA BRX BRXU JMP JMX JMXU CALL RET EXIT BSSY BSYNC BREAK BMOV UBMOV BPT KILL NANOSLEEP YIELD "
    "RTT RPCMOV WARPGROUP_EXIT PEXIT LONGJMP SSY SYNC BRK PBK PCNT CONT CAL PRET BRA_U SETSMEMSIZE",
}
_ON_STACK = re.compile(r"\[R1(\+-?0x[0-9a-f]+)?\]")
_BY_OPCODE = {opcode: name for name, opcodes in _CLASSES.items() for opcode in opcodes.split()}


def classify(instruction: str, *, spills: bool = False) -> str:
    """The class of an instruction, as nvdisasm prints it with or without its guard.

    That of a memory access names its space and bits: `global load 128`. Registers that ptxas spills are in local memory
    at fixed places of the stack; with `spills`, of a kernel that has some, accesses there are `spill load 32`.
    """
    text = _GUARD.sub("", instruction, count=1)
    opcode, _, operands = text.partition(" ")
    on_stack = spills and _ON_STACK.search(operands) is not None
    return _classify(opcode, ", -RZ, " in operands, ", RZ, RZ, " in operands, on_stack)


@functools.lru_cache(4096)
def _classify(opcode: str, with_zero: bool, product_is_zero: bool, on_stack: bool) -> str:
    name, *modifiers = opcode.split(".")
    accessed = _access(name, modifiers, on_stack)
    return accessed or _idiom(name, modifiers, with_zero, product_is_zero) or _BY_OPCODE.get(name, OTHER)


def _access(name: str, modifiers: Sequence[str], on_stack: bool) -> str | None:
    """The space and bits of a memory access."""
    if space := (_SPILLS.get(name) if on_stack else None) or _MEMORY.get(name):
        width = next((_WIDTHS[each] for each in modifiers if each in _WIDTHS), 32)
        return f"{space} {width}"
    return None


def _idiom(name: str, modifiers: Sequence[str], with_zero: bool, product_is_zero: bool) -> str | None:
    """The class of arithmetic that stands for something simpler."""
    if name == "IMAD" and ("MOV" in modifiers or (product_is_zero and "X" not in modifiers)):
        return "move"
    if name == "IMAD" and "SHL" in modifiers:
        return "logic and shift"
    # A half is made a float by adding nothing to it, and a constant moved by a product with nothing.
    if name == "HADD2" and "F32" in modifiers and with_zero:
        return "conversion"
    if name == "HFMA2" and with_zero:
        return "move"
    return None
