"""What warps did when: recorded on a GPU, or counted on the emulator, and what can be seen in it."""
