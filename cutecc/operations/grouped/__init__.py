"""Products of many groups in one launch, each of its own size: described, chosen, compiled and run."""
