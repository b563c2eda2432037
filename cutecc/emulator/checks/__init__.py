"""What `cutecc sanitize` looks for while a kernel runs on the emulator.

| check | finds | where |
|---|---|---|
| `bounds` | accesses outside of memory, and misaligned ones | made by memory itself |
| `initialisation` | reads of what nothing has written | `undefined`, `spreading`, `initialisation`, `registers` |
| `races` | accesses to the same byte that nothing orders | `races`, `exits`, `updates`, `signals` |
| `proxies` | a missing `fence.proxy.async` | `races` |
| `barriers` | misuse of barriers and mbarriers, also at the end | their instructions; `barrier_phases`, `leftovers` |
| `accumulators` | registers of a `wgmma` that is under way | `accumulators` |

What `races` compares an access with is in `shadow` and `readers`; what happened before it, in `clocks`, which
`synchronisation`, `locations` and `agents` keep.

`checker.Checker` is the `Watch` that hears of accesses and synchronisation; `instrument` puts checks around those steps
that need more. `containment.Contained` keeps mistakes of both from the run. `history.History` outlives the machines of
one launch: accesses of all of its blocks to global memory are compared, also of those that are not resident together.
So with `races` all blocks run in one process.
"""
