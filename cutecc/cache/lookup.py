"""Whether the cache is wanted, and what it has."""

from __future__ import annotations

from cutecc.cache import entries
from cutecc.cache.entries import Stored
from cutecc.cache.store import Store
from cutecc.config import Settings
from cutecc.errors import RecordError


def wanted(choice: bool | None) -> bool:
    """Whether to use the cache: what the caller says, else `CUTECC_CACHE`."""
    return Settings.from_environment().cache if choice is None else choice


def load(key: str) -> Stored | None:
    """The record that is kept under `key`; one that this cutecc cannot read is removed. Raises `CacheError`."""
    store = Store.of(Settings.from_environment())
    name = f"{key}.record"
    data = store.get(name)
    if data is None:
        return None
    try:
        return entries.decode(data)
    except RecordError:
        store.remove(name)
        return None
