"""Inputs that nobody means well with, made at random: one file for each kind, and what they are run in."""
