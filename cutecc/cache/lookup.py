"""Whether the cache is wanted, and what it has."""

from __future__ import annotations

from cutecc.cache import direct, entries
from cutecc.cache.direct import DirectEntry
from cutecc.cache.entries import Stored
from cutecc.cache.folder import CacheError
from cutecc.cache.store import Store
from cutecc.config import Settings
from cutecc.errors import RecordError


def wanted(choice: bool | None) -> bool:
    """Whether to use the cache: what the caller says, else `CUTECC_CACHE`."""
    return Settings.from_environment().cache if choice is None else choice


def load(key: str) -> Stored | None:
    """The record that is kept under `key`; one that this cutecc cannot read is removed.

    Raises `CacheError`, also for what was made for another key. That stays until something is put in its place.
    """
    store = Store.of(Settings.from_environment())
    name = f"{key}.record"
    data = store.get(name)
    if data is None:
        return None
    try:
        stored = entries.decode(data)
    except RecordError:
        store.remove(name)
        return None
    if stored.kept_as != name:
        raise CacheError(
            f"the cache {store.folder} has another compilation under this one's key, which is not used: "
            f"somebody renamed {stored.kept_as} to {name}"
        )
    return stored


def load_direct(name: str) -> DirectEntry | None:
    """The direct entry called `name`; `None` for one that was made for another name. Raises `CacheError`."""
    data = Store.of(Settings.from_environment()).get(name)
    entry = direct.decode(data) if data else None
    return entry if entry and entry.kept_as == name else None


def is_of_another(name: str, content: bytes) -> bool:
    """Whether what the store has under `name` says that it was made for another name."""
    if name.endswith(".direct"):
        entry = direct.decode(content)
        return entry is not None and entry.kept_as != name
    try:
        return name.endswith(".record") and entries.decode(content).kept_as != name
    except RecordError:
        return False  # of another release, perhaps
