"""What a deadlock comes of: of all that threads wait for, the one thing that nobody can bring about."""
