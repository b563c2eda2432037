"""Has no pass."""
