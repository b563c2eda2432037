"""Where a kernel's time goes: samples of program counters, taken by the GPU, on the lines that the inspector knows."""
