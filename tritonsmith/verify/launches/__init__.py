"""Launches: what they may be given, what they compile to, and how they look where there is no GPU."""
