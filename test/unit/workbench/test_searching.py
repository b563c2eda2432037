"""Finding where a difference begins."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cutecc.workbench.searching import State, boundary

states = st.lists(st.sampled_from(["good", "unknown", "bad"]), max_size=40)


@given(st.integers(0, 60), st.data())
def test_a_single_boundary_is_found_in_few_questions(count: int, data: st.DataObject) -> None:
    first_bad = data.draw(st.integers(0, count))
    asked: list[int] = []

    def state_at(place: int) -> State:
        asked.append(place)
        return "bad" if place >= first_bad else "good"

    found = boundary(range(count), state_at)
    assert (found.good, found.bad) == (first_bad - 1, first_bad)
    assert found.tried == len(asked) == len({*asked}) <= count.bit_length()


@given(states)
def test_whatever_places_say_the_ends_are_what_they_say_they_are(places: list[State]) -> None:
    found = boundary(places, lambda place: place)
    assert -1 <= found.good < found.bad <= len(places)
    assert found.good == -1 or places[found.good] == "good"
    assert found.bad == len(places) or places[found.bad] == "bad"
    assert all(place == "unknown" for place in places[found.good + 1 : found.bad])
