"""Atoms: what one instruction copies or multiplies. One file per family, a row and a short function for each atom."""
