"""How a caller says what the emulator is to do, and which blocks a sample has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.emulator.grid import index_of, linear
from cutecc.emulator.options import BlockSample, EmulatorOptions, read_checks
from cutecc.errors import UsageError

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
    ],
)
def test_samples_of_a_row_of_ten(text: object, blocks: list[int]) -> None:
    assert BlockSample.parse(text).select((10, 1, 1)) == blocks  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("text", ["", "0", "4:4", "8:2", "-3", "a", "1,2,3,4", range(0, 8, 2)])
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
    chosen = BlockSample(count=count).select(blocks, cluster)
    assert chosen == sorted(set(chosen)) and set(chosen) <= set(range(total))
    assert min(count, total) <= len(chosen) < count + size or len(chosen) == total
    assert 0 in chosen and (count <= size or total - 1 in chosen)
    places = {tuple(each // of for each, of in zip(index_of(block, blocks), cluster, strict=True)) for block in chosen}
    assert len(chosen) == len(places) * size


@given(SIZES, st.data())
def test_numbers_of_blocks(shape: tuple[int, int, int], data: st.DataObject) -> None:
    number = data.draw(st.integers(0, shape[0] * shape[1] * shape[2] - 1))
    assert linear(index_of(number, shape), shape) == number


def test_samples_read_as_they_are_written() -> None:
    for text in ("16", "0:8", "4:", "(0, 1, 0)"):
        assert str(BlockSample.parse(text)) == text


def test_options() -> None:
    options = EmulatorOptions.of(check="races", schedule="random", seed=3, blocks=16, counters=True)
    assert "races" in options.check and options.blocks == BlockSample(count=16) and options.counters
    assert EmulatorOptions.of() == EmulatorOptions()
    assert read_checks(False) == read_checks(None) == frozenset()
    assert read_checks(True) == read_checks("all") == read_checks(["all"]) > read_checks(["races", "bounds"])
    with pytest.raises(UsageError, match="no schedule is called 'fast'"):
        EmulatorOptions.of(schedule="fast")
    with pytest.raises(UsageError, match="no check 'race'"):
        EmulatorOptions.of(check="race")
    with pytest.raises(UsageError, match="a seed is a number from 0 on"):
        EmulatorOptions.of(seed=-1)
    with pytest.raises(UsageError, match="the number of processes is a number from 1 on, not 0"):
        EmulatorOptions.of(processes=0)
    for wrong in (3, [1], ["races", None]):
        with pytest.raises(UsageError, match="check is True or names, not"):
            EmulatorOptions.of(check=wrong)  # pyright: ignore[reportArgumentType]
