"""Kernels of grouped products: those of a GEMM, whose blocks take the tiles of many products one after the other.

A *task* is a tile of a group's D, of a cluster its tiles. Tasks are numbered group after group, in a group as a swizzle
says; blocks take every n-th one. How Hopper's kernel keeps groups apart:

| packing | A, B | D |
|---|---|---|
| `rows`, `columns` | TMA begins where the group does, and reads on into the next one | boxes; threads store the last |
| `depth` | descriptors of each group, that end with it: what is behind arrives as zeros | boxes |
| `list` | descriptors of each group | boxes, by descriptors of each group |

The other families begin copies at a group's own address, and know its sizes.
"""
