"""Which options of the user's may reach ptxas: none that choose a file, nor what cutecc itself decides."""

from __future__ import annotations

import re
import shlex

from cutecc.errors import UsageError

# By `ptxas --help` of 13.5. An option is spelled `--name` or `-name`, its value `=value` or the next argument; every
# other argument is the name of an input file. Names are matched exactly, never by prefix.
_FILE_OPTIONS = {"output-file", "o", "options-file", "optf", "apply-controls", "input-as-string", "ias"}
_DECIDED_OPTIONS = {"gpu-name": "--target", "arch": "--target"}
_NOT_COMPILING_OPTIONS = {"help", "h", "version", "V", "list-arch", "arch-ls", "list-version", "version-ls"}
_VALUE_OPTIONS = {
    *("Ofast-compile", "Ofc", "allow-expensive-optimizations", "def-load-cache", "dlcm", "def-store-cache", "dscm"),
    *("device-function-maxrregcount", "func-maxrregcount", "device-stack-protector", "enable-func-clone-sc"),
    *("entry", "e", "fmad", "force-load-cache", "flcm", "force-store-cache", "fscm", "machine", "m", "maxntid"),
    *("maxrregcount", "minnctapersm", "opt-level", "position-independent-code", "pic", "register-usage-level"),
    *("regUsageLevel", "sanitize", "split-compile"),
}
_PLAIN = re.compile(r"[\w.,=+:@$%-]+")
_HARMLESS_VALUE = re.compile(r"\d+|true|false")


def checked_options(text: str) -> list[str]:
    """The options in `text`, split as a shell splits words.

    Raises `UsageError` for one that names a file to read or write, that sets what has an option of cutecc's own, that
    makes ptxas print something instead of assembling, or that is not made of plain characters.
    """
    try:
        words = shlex.split(text)
    except ValueError as failure:
        raise UsageError(f"ptxas options {text!r}: {failure}") from None
    takes_value = False
    for word in words:
        if not _PLAIN.fullmatch(word):
            raise UsageError(f"ptxas option {word!r}: only letters, digits and _ . , = + : @ $ % - are allowed")
        if not word.startswith("-"):
            if not takes_value:
                raise UsageError(
                    f"ptxas option {word!r}: ptxas would take it for the name of a file",
                    hints=["write an option's value with '=', for example -maxrregcount=64"],
                )
            takes_value = False
            continue
        takes_value = _check_option(word)
    return words


def _check_option(word: str) -> bool:
    """Raise for an option that is refused; say whether the next word is its value."""
    name, equals, value = word.lstrip("-").partition("=")
    if name in _FILE_OPTIONS:
        raise UsageError(f"ptxas option '{word}': options that name files are set by cutecc alone")
    if name in _DECIDED_OPTIONS:
        raise UsageError(f"ptxas option '{word}' is set by cutecc", hints=[f"use {_DECIDED_OPTIONS[name]}"])
    if name in _NOT_COMPILING_OPTIONS:
        raise UsageError(f"ptxas option '{word}' makes ptxas print and assemble nothing")
    if name in _VALUE_OPTIONS:
        return not equals
    if equals and name != "O" and not _HARMLESS_VALUE.fullmatch(value):
        # It may be an option of another ptxas that names a file.
        raise UsageError(f"ptxas option '{word}': an unknown option can only have a number, true or false as its value")
    return False
