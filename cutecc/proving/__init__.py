"""Proofs that a kernel's synchronisation is right for every schedule and every size."""
