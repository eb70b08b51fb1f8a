"""Runners as processes: forked, closed in, spoken to, their memory and time limited; who has a GPU when."""
