"""How a caller says what the emulator is to do, and which blocks a sample has."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.emulator.grid import index_of, linear
from cutecc.emulator.options import BlockSample, EmulatorOptions, read_checks
from cutecc.errors import UsageError

_NO_BLOCKS = [
    *("", "0", "4:4", "8:2", "-3", "a", "1,2,3,4", "(0,0", "0,0)", "٣", "9" * 5000),
    *(True, 1.0, b"1", (), (3,), (0, 0, 0, 0), (-1, 0), (0.0, 0), range(0, 8, 2), range(0), slice(0, 2)),
]
SIZES = st.tuples(*[st.integers(1, 6)] * 3)


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("3", [0, 4, 9]),
        ("1", [0]),
        ("100", [*range(10)]),
        ("0:4", [0, 1, 2, 3]),
        (":2", [0, 1]),
        ("7:", [7, 8, 9]),
        ("8:99", [8, 9]),
        ("(4, 0, 0)", [4]),
        ("4,0", [4]),
        (2, [0, 9]),
        (range(2, 4), [2, 3]),
        ((9, 0, 0), [9]),
        ([8, 0], [8]),
        ((np.int64(7), np.int64(0), np.int64(0)), [7]),
    ],
)
def test_samples_of_a_row_of_ten(text: object, blocks: list[int]) -> None:
    assert list(BlockSample.parse(text).select((10, 1, 1))) == blocks  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("text", _NO_BLOCKS)
def test_what_names_no_blocks(text: object) -> None:
    with pytest.raises(UsageError, match="names no blocks"):
        BlockSample.parse(text)  # pyright: ignore[reportArgumentType]


def test_blocks_that_the_grid_does_not_have() -> None:
    with pytest.raises(UsageError, match=r"no block \(0, 2, 0\) in a grid of \(4, 2, 1\)"):
        BlockSample.parse("(0,2,0)").select((4, 2, 1))
    with pytest.raises(UsageError, match="outside of a grid of 8 blocks"):
        BlockSample.parse("8:12").select((4, 2, 1))


@given(grid=SIZES, cluster=SIZES, count=st.integers(1, 300))
def test_a_sample_is_of_whole_clusters_with_the_first_and_the_last(
    grid: tuple[int, int, int], cluster: tuple[int, int, int], count: int
) -> None:
    blocks = (grid[0] * cluster[0], grid[1] * cluster[1], grid[2] * cluster[2])
    total, size = blocks[0] * blocks[1] * blocks[2], cluster[0] * cluster[1] * cluster[2]
    chosen = list(BlockSample(count=count).select(blocks, cluster))
    assert chosen == sorted(set(chosen)) and set(chosen) <= set(range(total))
    assert min(count, total) <= len(chosen) < count + size or len(chosen) == total
    assert 0 in chosen and (count <= size or total - 1 in chosen)
    places = {tuple(each // of for each, of in zip(index_of(block, blocks), cluster, strict=True)) for block in chosen}
    assert len(chosen) == len(places) * size


@given(SIZES, st.data())
def test_numbers_of_blocks(shape: tuple[int, int, int], data: st.DataObject) -> None:
    number = data.draw(st.integers(0, shape[0] * shape[1] * shape[2] - 1))
    assert linear(index_of(number, shape), shape) == number


@pytest.mark.parametrize("fields", [{"count": 0}, {"start": -5}, {"start": 3, "end": 3}, {"index": (0, -1, 0)}])
def test_samples_of_nothing(fields: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="names no blocks"):
        BlockSample(**fields)


def test_samples_read_as_they_are_written() -> None:
    for text in ("16", "0:8", "4:", "(0, 1, 0)"):
        assert str(BlockSample.parse(text)) == text


def test_options() -> None:
    options = EmulatorOptions(check="races", schedule="random", seed=3, blocks=16, counters=True)
    assert "races" in options.check and options.blocks == BlockSample(count=16) and options.counters
    assert EmulatorOptions() == EmulatorOptions()
    assert read_checks(False) == read_checks(None) == frozenset()
    assert read_checks(True) == read_checks("all") == read_checks(["all"]) > read_checks(["races", "bounds"])
    assert EmulatorOptions().shared == "poison" and EmulatorOptions(shared="zero").shared == "zero"
    with pytest.raises(UsageError, match="no schedule is called 'fast'"):
        EmulatorOptions(schedule="fast")
    with pytest.raises(UsageError, match="no check 'race'"):
        EmulatorOptions(check="race")
    with pytest.raises(UsageError, match="a seed is a number from 0 on"):
        EmulatorOptions(seed=-1)
    with pytest.raises(UsageError, match="the number of processes is a number from 1 on, not 0"):
        EmulatorOptions(processes=0)


@pytest.mark.parametrize("wrong", [3, 1.5, [1], ["races", None], b"races", np.array(3), np.True_, object(), type])
def test_what_names_no_checks(wrong: Any) -> None:
    with pytest.raises(UsageError, match="check is True or names, not"):
        EmulatorOptions(check=wrong)


@pytest.mark.parametrize("text", ["", ",", " , "])
def test_a_text_without_checks_is_a_mistake(text: str) -> None:
    with pytest.raises(UsageError, match="names no check"):
        EmulatorOptions(check=text)
    assert EmulatorOptions(check=[]).check == frozenset()


@pytest.mark.parametrize("text", ["all,speed", ["all", "speed"]])
def test_all_does_not_hide_a_name_that_is_none(text: Any) -> None:
    with pytest.raises(UsageError, match="there is no check 'speed'"):
        EmulatorOptions(check=text)


@pytest.mark.parametrize("wrong", ["", 0, 1, True, 1.5, b"random", ["random"], np.array([1, 2]), object()])
def test_what_names_no_schedule(wrong: Any) -> None:
    with pytest.raises(UsageError, match="no schedule is called"):
        EmulatorOptions(schedule=wrong)


@pytest.mark.parametrize("wrong", [-1, 1.0, "1", b"1", True, np.float32(1), np.array([3, 4]), [], object()])
def test_what_is_no_number(wrong: Any) -> None:
    with pytest.raises(UsageError, match="a seed is a number from 0 on"):
        EmulatorOptions(seed=wrong)
    with pytest.raises(UsageError, match="the number of processes is a number from 1 on"):
        EmulatorOptions(processes=wrong)
    assert EmulatorOptions(seed=np.int64(3), processes=2**70) == EmulatorOptions(seed=3, processes=2**70)


@pytest.mark.parametrize("wrong", ["no", 1, None, np.array([1, 2])])
def test_what_does_not_say_whether_to_count(wrong: Any) -> None:
    with pytest.raises(UsageError, match="counters is True or False, not"):
        EmulatorOptions(counters=wrong)


def test_options_with_one_replaced_and_in_another_process() -> None:
    options = EmulatorOptions(check="races", blocks=16)
    assert replace(options, seed=7) == EmulatorOptions(check="races", blocks=16, seed=7)
    assert pickle.loads(pickle.dumps(options)) == options
