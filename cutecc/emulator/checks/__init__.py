"""What `cutecc sanitize` looks for while a kernel runs on the emulator.

| check | finds | where |
|---|---|---|
| `bounds` | accesses outside of memory, and misaligned ones | made by memory itself |
| `initialisation` | shared and local memory, and registers, that nothing has written | `initialisation`, `registers` |
| `races` | accesses to the same byte that nothing orders | `clocks`, `locations`, `shadow`, `readers`, `races` |
| `proxies` | a missing `fence.proxy.async` | `clocks`, `races` |
| `barriers` | misuse of barriers and mbarriers, also at a block's end | made by their instructions; `leftovers` |
| `accumulators` | registers of a `wgmma` that is under way | `accumulators` |

`checker.Checker` is the `Watch` that hears of accesses and synchronisation; `instrument` puts checks around those steps
that need more. `history.History` outlives the machines of one launch: accesses of all of its blocks to global memory
are compared, also of those that are not resident together. So with `races` all blocks run in one process.
"""
