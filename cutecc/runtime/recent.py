"""A dictionary of bounded size that forgets what has not been used for long, at no cost for what has."""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """At most `2 * size` entries, in two generations: when the young one is full, it becomes the old one.

    Not to be changed by two threads at once; reading `young` meanwhile is safe.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self.young: dict[K, V] = {}
        """What has been found or added lately. A hit here is a plain dictionary's."""
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The value of `key`, which is young from now on; `None` when there is none."""
        value = self.young.get(key)
        if value is None and (value := self._old.get(key)) is not None:
            self.put(key, value)
        return value

    def put(self, key: K, value: V) -> None:
        """Add an entry, or replace it."""
        if len(self.young) >= self._size:
            self._old = self.young
            self.young = {}
        self.young[key] = value

    def __len__(self) -> int:
        return len(self.young.keys() | self._old.keys())
