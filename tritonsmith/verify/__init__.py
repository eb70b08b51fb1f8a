"""Judges candidates: policy, compile, interpreter or GPU, numerics, timing; judge and runner in processes apart."""
