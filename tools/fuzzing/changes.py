"""Changes at random that fit any file, any text, any JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random
from typing import Any, cast

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_CHARACTERS = ("", "", *"{}[]()<>;,.:@!%|_+-=?\"'/*\\# 0", "\0", "\x1b", "\x85", "\u0301", "\u2028", "\U0001f600", "٣")
_NUMBERS = (
    *("0", "1", "-1", "3", "7", "33", "4096", "2147483647", "-2147483648", "4294967296", "18446744073709551616"),
    *("1e999", "-0.0", "nan", "1.5", "9" * 40, "9" * 5000, "0x10", "1_0", "1e-400"),
)
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 3, 2**31, -(2**31), 2**32, 2**63, -(2**63), 2**64, 10**40, 1.5, -0.0, 1e308, 1e-320),
    *(
        "",
        "x",
        "\0",
        "\x1b[2J",
        "../../x",
        "/etc/passwd",
        "é\u2028",
        "i64",
        "f16[?]",
        "sm_90a",
        "9" * 50,
        "x" * 100_000,
    ),
    *([], {}, [0], [[]], [[], {}], {"": 0}, {"x": {}}, [None] * 50, [1] * 1000),
)


def changed_bytes(data: bytes, random: Random) -> bytes:
    """Bytes that are cut, flipped, left out, doubled or others."""
    found = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 5))):
        start = random.randrange(len(found) + 1)
        end = min(len(found), start + random.choice((1, 1, 4, 16, 500)))
        match random.randrange(7):
            case 0:
                del found[random.choice((start, start // 8)) :]
            case 1 | 2 if start < len(found):
                found[start] ^= 1 << random.randrange(8)
            case 3:
                found[start:end] = random.randbytes(end - start)
            case 4:
                del found[start:end]
            case 5:
                found[start:start] = found[start:end]
            case _:
                found[start:end] = random.choice((b"\0", b"\xff")) * (end - start)
    return bytes(found)


def changed_text(text: str, random: Random, words: Sequence[str] = ()) -> str:
    """A text of which a few tokens are others, or in other places; `words` are some that mean something in it."""
    tokens = _TOKEN.findall(text)
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        place = random.randrange(len(tokens) + 1)
        new = random.choice(
            (random.choice(_CHARACTERS), random.choice(_NUMBERS), random.choice([*words, *tokens, "x"]))
        )
        match random.randrange(7):
            case 0 | 1:
                tokens[place : place + 1] = [new]
            case 2 | 3:
                tokens.insert(place, new)
            case 4:
                del tokens[place : place + random.choice((1, 1, 3, 20))]
            case 5:
                tokens[place:place] = tokens[place : place + 5] * random.choice((1, 1, 2, 100))
            case _:
                tokens.insert(place, random.choice("([{<-'\"") * random.choice((2, 80, 5000)))
    return "".join(tokens)


def changed_json(data: bytes, random: Random, text: Callable[[str, Random], str] = changed_text) -> bytes:
    """JSON with other values, keys or nesting; `text` changes what is text in it. What is no JSON stays."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return data
    for _ in range(random.choice((1, 1, 2, 4))):
        body = _changed_value(body, random, text)
    found = json.dumps(body)
    if random.random() < 0.05:
        # Nested more deeply than `json` writes; of other kinds than Python's.
        new = random.choice(
            ("[" * 50_000, '{"a":' * 50_000, "1" + "0" * 5000, "-", "1e999", "Infinity", "[" * 900 + "]" * 900)
        )
        place = random.choice([match.start() for match in re.finditer(r"(?<=: )", found)] or [0])
        found = found[:place] + new + found[place:]
    return found.encode()


def _changed_value(value: Any, random: Random, text: Callable[[str, Random], str]) -> Any:
    """The value with a change somewhere in it."""
    inner: list[Any] = []
    if isinstance(value, dict):
        inner = [*cast(dict[str, Any], value)]
    elif isinstance(value, list):
        inner = [*range(len(cast(list[Any], value)))]
    if not inner or random.random() < 0.05:
        if isinstance(value, str) and random.random() < 0.5:
            return text(value, random)
        if isinstance(value, int) and random.random() < 0.3:
            return value + random.choice((-1, 1, 2))
        return deepcopy(random.choice(_VALUES))
    key = random.choice(inner)
    match random.randrange(12):
        case 0:
            del value[key]
        case 1 if isinstance(value, dict):
            value[random.choice(("x", "", "name", "kind", *inner))] = value.pop(key)
        case 1 | 2 if isinstance(value, list):
            value.insert(key, deepcopy(value[random.choice(inner)]))
        case _:
            value[key] = _changed_value(value[key], random, text)
    return value
