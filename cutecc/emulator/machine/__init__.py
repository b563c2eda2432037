"""What runs: gangs of warps, their schedule, what they wait for."""
