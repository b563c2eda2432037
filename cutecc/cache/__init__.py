"""The store of finished compilations on disk: `docs/caching.md`."""
