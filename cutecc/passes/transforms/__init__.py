"""Optimisations of ours: passes on cute that either pipeline can take."""
