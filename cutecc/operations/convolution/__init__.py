"""Convolutions as implicit matrix products: described, chosen, compiled and run."""
